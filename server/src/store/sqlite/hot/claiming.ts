/** Claiming on SQLite: claims on one queue that arrive together share one look at its head and one update. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Claim, type ClaimedMessage, CONSUMED, isVolatile, LEASED, type MessageStore } from '../../store.ts';
import { asBuffer } from '../connection.ts';
import type { GroupCommit } from '../group-commit.ts';
import { prepareForRows } from './many-rows.ts';

/** How many claims on one destination share a look at its head, and how many messages they may want together. */
const CLAIMS_TOGETHER = 64;
const MESSAGES_TOGETHER = 512;
/** Content up to this comes with the look itself; larger is read when it is known to be wanted. */
const SMALL = 16 * 1024;
/** How much content claims take into memory before the rest of them have to ask again. */
const MAX_BYTES_TOGETHER = 32 * 1024 * 1024;

/** About what taking a message writes. */
const ROW_BYTES = 200;

interface Head {
  readonly id: number;
  readonly size: number;
  readonly tries: number;
  readonly posted: number;
  readonly content_type: string | null;
  readonly headers: string;
  readonly name: string | null;
  /** null: larger than what comes with a look. */
  readonly body: Uint8Array | null;
}

/** Values of the rows to be written: id, state, due and token of each message taken. */
interface Taking {
  readonly durable: number[];
  readonly volatile: number[];
}

/** The ready messages of a destination in their order, in one of the two places where they lie. */
const headIn = (schema: 'main' | 'volatile'): string =>
  `SELECT d.id, d.rank, d.ord, d.size, d.tries, m.posted, m.content_type, m.headers, m.name,
     CASE WHEN d.size <= ${SMALL} THEN m.body END AS body
   FROM ${schema}.delivery AS d CROSS JOIN ${schema}.message AS m ON m.id = d.id
   WHERE d.dest = ?1 AND d.state = 0 AND (d.expires IS NULL OR d.expires > ?2)`;

export function createClaiming(db: DatabaseSync, group: GroupCommit): MessageStore['claim'] {
  // Without a derived table around it SQLite merges the two ready indexes; with one it sorts everything.
  // The plus sign: see connection.ts.
  const head = db.prepare(`${headIn('main')} UNION ALL ${headIn('volatile')} ORDER BY 2, 3 LIMIT +?3`);
  const takeDurable = takingIn(db, 'main');
  const takeVolatile = takingIn(db, 'volatile');
  const durableBody = bodyIn(db, 'main');
  const volatileBody = bodyIn(db, 'volatile');

  /** When they would take too much into memory at once, the last claims get no outcome and have to ask again. */
  function claimTogether(claims: readonly Claim[]): (ClaimedMessage[] | undefined)[] {
    const [{ destination, now }] = claims as [Claim];
    const wanted = claims.reduce((sum, claim) => sum + claim.max, 0);
    const heads = head.all(destination, now, wanted) as unknown as Head[];
    const taking: Taking = { durable: [], volatile: [] };
    let next = 0;
    let taken = 0;
    const outcomes = claims.map((claim) => {
      if (taken > MAX_BYTES_TOGETHER) return undefined;
      const claimed: ClaimedMessage[] = [];
      let bytes = 0;
      while (next < heads.length && claimed.length < claim.max) {
        const found = heads[next] as Head;
        bytes += found.size;
        if (claimed.length > 0 && bytes > claim.maxBytes) break;
        claimed.push(take(claim, found, taking));
        taken += found.size;
        next++;
      }
      return claimed;
    });
    takeDurable(taking.durable);
    takeVolatile(taking.volatile);
    return outcomes;
  }

  function take({ destination, mode, due, token }: Claim, found: Head, taking: Taking): ClaimedMessage {
    const { id, posted, content_type: contentType, headers, name } = found;
    const rows = isVolatile(id) ? taking.volatile : taking.durable;
    rows.push(id, mode === 'lease' ? LEASED : CONSUMED, due, token);
    const whole = isVolatile(id) ? volatileBody : durableBody;
    const body = asBuffer(found.body ?? (whole.get(id) as { body: Uint8Array }).body);
    const deliveries = found.tries + 1;
    return { id, destination, position: null, posted, contentType, headers, name, body, deliveries, token };
  }

  return gatherClaims(group, claimTogether);
}

const bodyIn = (db: DatabaseSync, schema: string): StatementSync =>
  db.prepare(`SELECT body FROM ${schema}.message WHERE id = ?`);

/** Writes the new states of what was taken: id, state, due and token of each. */
const takingIn = (db: DatabaseSync, schema: string) =>
  prepareForRows(
    db,
    4,
    (rows) =>
      `WITH taken (id, state, due, token) AS (VALUES ${rows})
       UPDATE ${schema}.delivery SET state = taken.state, due = taken.due, token = taken.token, tries = tries + 1
       FROM taken WHERE delivery.id = taken.id`,
  );

interface WaitingClaim {
  readonly claim: Claim;
  readonly resolve: (claimed: ClaimedMessage[] | Promise<ClaimedMessage[]>) => void;
  readonly reject: (error: unknown) => void;
}

interface Batch {
  readonly claims: WaitingClaim[];
  wanted: number;
}

/** Makes one job of the claims that reach a destination before its job runs. */
function gatherClaims(
  group: GroupCommit,
  claimTogether: (claims: readonly Claim[]) => (ClaimedMessage[] | undefined)[],
) {
  const waiting = new Map<number, Batch>();
  const hasRoom = ({ claims, wanted }: Batch, { max }: Claim): boolean =>
    claims.length < CLAIMS_TOGETHER && wanted + max <= MESSAGES_TOGETHER;

  return function ask(claim: Claim): Promise<ClaimedMessage[]> {
    return new Promise((resolve, reject) => {
      const gathered = waiting.get(claim.destination);
      if (gathered !== undefined && hasRoom(gathered, claim)) {
        gathered.claims.push({ claim, resolve, reject });
        gathered.wanted += claim.max;
        return;
      }
      const batch: Batch = { claims: [{ claim, resolve, reject }], wanted: claim.max };
      waiting.set(claim.destination, batch);
      const close = (): void => {
        if (waiting.get(claim.destination) === batch) waiting.delete(claim.destination);
      };
      group
        .submit(
          () => {
            close();
            return claimTogether(batch.claims.map((each) => each.claim));
          },
          { bytes: claim.max * ROW_BYTES },
        )
        .then(
          (outcomes) => {
            for (const [index, each] of batch.claims.entries()) each.resolve(outcomes[index] ?? ask(each.claim));
          },
          (error) => {
            // The group may have died before this job ran: nobody must join a batch that is over.
            close();
            for (const each of batch.claims) each.reject(error);
          },
        );
    });
  };
}
