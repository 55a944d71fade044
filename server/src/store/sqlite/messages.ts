/** The hot paths on SQLite: synchronous jobs of a group commit, on prepared statements. */
import type { DatabaseSync } from 'node:sqlite';
import { mustPostAlone, postAlone } from '../post-alone.ts';
import {
  type Claim,
  type ClaimedMessage,
  isVolatile,
  type MessageStore,
  type NewMessage,
  type Posting,
  type PostOutcome,
  type Settlement,
  type SettleOutcome,
} from '../store.ts';
import { asBuffer } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

/** Volatile messages beyond this are stored on disk like others: the memory is bounded, the promise is kept. */
const MAX_VOLATILE_BYTES = 256 * 1024 * 1024;
/** Milliseconds for which one look at the room is good. */
const TRUST_ROOM_FOR = 5;

interface Head {
  readonly id: number;
  readonly size: number;
  readonly tries: number;
}

interface DeliveryRow {
  readonly state: number;
  readonly token: number;
  readonly tries: number;
}

interface MessageRow {
  readonly content_type: string | null;
  readonly headers: string;
  readonly name: string | null;
  readonly posted: number;
  readonly body: Uint8Array;
}

/** The statements on the tables of one schema. */
function prepareSchema(db: DatabaseSync, schema: 'main' | 'volatile') {
  return {
    insertMessage: db.prepare(
      `INSERT INTO ${schema}.message (id, dest, pos, posted, content_type, headers, expires, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertDelivery: db.prepare(
      `INSERT INTO ${schema}.delivery (id, dest, rank, ord, state, due, expires, tries, token, size)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?)`,
    ),
    take: db.prepare(`UPDATE ${schema}.delivery SET state = ?, due = ?, tries = ?, token = ? WHERE id = ?`),
    content: db.prepare(`SELECT content_type, headers, name, posted, body FROM ${schema}.message WHERE id = ?`),
    delivery: db.prepare(`SELECT state, token, tries FROM ${schema}.delivery WHERE id = ?`),
    settle: db.prepare(`UPDATE ${schema}.delivery SET state = ?, due = ? WHERE id = ?`),
  };
}

export function createMessages(db: DatabaseSync, group: GroupCommit, nextArrival: () => number): MessageStore {
  const schemas = { durable: prepareSchema(db, 'main'), volatile: prepareSchema(db, 'volatile') };
  const schemaOf = (id: number) => (isVolatile(id) ? schemas.volatile : schemas.durable);
  const hasDestination = db.prepare('SELECT 1 FROM destination WHERE id = ?');
  const advanceTopic = db.prepare('UPDATE topic_position SET last = last + ? WHERE dest = ? RETURNING last');
  const useLink = db.prepare(
    `INSERT INTO once_chain (chain, n, expires) VALUES (?, ?, ?)
     ON CONFLICT (chain) DO UPDATE SET n = excluded.n, expires = excluded.expires
     WHERE once_chain.n = excluded.n - 1 RETURNING n`,
  );
  // Without a derived table around it SQLite merges the two ready indexes; with one it sorts everything.
  const head = db.prepare(
    `SELECT id, rank, ord, size, tries FROM main.delivery
     WHERE dest = ?1 AND state = 0 AND (expires IS NULL OR expires > ?2)
     UNION ALL
     SELECT id, rank, ord, size, tries FROM volatile.delivery
     WHERE dest = ?1 AND state = 0 AND (expires IS NULL OR expires > ?2)
     ORDER BY 2, 3 LIMIT ?3`,
  );

  function insert(posting: Posting, message: NewMessage, position: number | null): void {
    const { insertMessage, insertDelivery } = schemaOf(message.id);
    const { destination, posted } = posting;
    const { contentType, headers, delayedUntil, expires, rank, body } = message;
    const life = position === null ? null : expires;
    insertMessage.run(message.id, destination, position, posted, contentType, headers, life, body);
    if (position !== null) return;
    const state = delayedUntil === null ? 0 : 2;
    insertDelivery.run(message.id, destination, rank, nextArrival(), state, delayedUntil, expires, body.length);
  }

  function post(posting: Posting): PostOutcome {
    const { destination, kind, messages, once } = posting;
    if (hasDestination.get(destination) === undefined) return 'no-destination';
    if (once !== undefined && useLink.get(once.chain, once.n, once.expires) === undefined) return 'once-used';
    let position: number | null = null;
    if (kind === 'topic') {
      const row = advanceTopic.get(messages.length, destination) as { last: number };
      position = row.last - messages.length;
    }
    for (const message of messages) {
      if (position !== null) position++;
      insert(posting, message, position);
    }
    return 'stored';
  }

  /**
   * Claims on one destination that arrived together: the head of the queue is looked up once for all of them. When they
   * would take too much into memory at once, the last get no outcome and have to ask again.
   */
  function claimTogether(claims: readonly Claim[]): (ClaimedMessage[] | undefined)[] {
    const [{ destination, now }] = claims as [Claim];
    const wanted = claims.reduce((sum, claim) => sum + claim.max, 0);
    const heads = head.all(destination, now, wanted) as unknown as Head[];
    let next = 0;
    let taken = 0;
    return claims.map((claim) => {
      if (taken > MAX_BYTES_TOGETHER) return undefined;
      const claimed: ClaimedMessage[] = [];
      let bytes = 0;
      while (next < heads.length && claimed.length < claim.max) {
        const found = heads[next] as Head;
        bytes += found.size;
        if (claimed.length > 0 && bytes > claim.maxBytes) break;
        claimed.push(take(claim, found));
        taken += found.size;
        next++;
      }
      return claimed;
    });
  }

  function take({ destination, mode, due, token }: Claim, { id, tries }: Head): ClaimedMessage {
    const { take, content } = schemaOf(id);
    take.run(mode === 'lease' ? 1 : 5, due, tries + 1, token, id);
    const row = content.get(id) as unknown as MessageRow;
    return {
      id,
      destination,
      position: null,
      posted: row.posted,
      contentType: row.content_type,
      headers: row.headers,
      name: row.name,
      body: asBuffer(row.body),
      deliveries: tries + 1,
      token,
    };
  }

  function settle({ id, token, verdict, due, maxDeliveries, now }: Settlement): SettleOutcome {
    const statements = schemaOf(id);
    const row = statements.delivery.get(id) as unknown as DeliveryRow | undefined;
    if (row === undefined) return 'gone';
    if (row.token !== token || row.state === 4 || row.state > 5) return 'overtaken';
    if (verdict === 'acknowledge') {
      if (row.state !== 5) statements.settle.run(5, due, id);
      return 'done';
    }
    if (verdict === 'extend') {
      if (row.state === 5) return 'overtaken';
      statements.settle.run(1, due, id);
      return 'done';
    }
    if (row.tries >= maxDeliveries) {
      statements.settle.run(1, now, id);
      return 'dead';
    }
    statements.settle.run(due === null ? 0 : 2, due, id);
    return 'done';
  }

  return {
    post(posting) {
      const grows = posting.messages.some(({ id }) => !isVolatile(id));
      const options = { bytes: sizeOf(posting), grows };
      if (mustPostAlone(posting)) {
        return group.transaction((tx) => postAlone(tx, posting), options);
      }
      return group.submit(() => post(posting), options);
    },
    postIn: postAlone,
    async postLast(tx, posting) {
      await postAlone(tx, { ...posting, kind: 'topic' });
    },
    claim: gatherClaims(group, claimTogether),
    settle: (settlement) => group.submit(() => settle(settlement)),
    hasVolatileRoom: createVolatileRoom(db),
  };
}

/**
 * Tells whether there is room for volatile messages. A look costs as much as an insert, so it is trusted for a moment; what
 * comes in during that moment is bounded by what the service takes in at once.
 */
function createVolatileRoom(db: DatabaseSync): () => boolean {
  const pageCount = db.prepare('PRAGMA volatile.page_count');
  const freeCount = db.prepare('PRAGMA volatile.freelist_count');
  const pageSize = (db.prepare('PRAGMA volatile.page_size').get() as { page_size: number }).page_size;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let hasRoom = true;
  return () => {
    const now = performance.now();
    if (now - lookedAt > TRUST_ROOM_FOR) {
      lookedAt = now;
      const { page_count: all } = pageCount.get() as { page_count: number };
      // Pages of messages that have left stay with the database and are used again.
      const { freelist_count: free } = freeCount.get() as { freelist_count: number };
      hasRoom = (all - free) * pageSize < MAX_VOLATILE_BYTES;
    }
    return hasRoom;
  };
}

function sizeOf({ messages }: Posting): number {
  let bytes = 0;
  for (const message of messages) bytes += message.body.length + message.headers.length;
  return bytes;
}

interface WaitingClaim {
  readonly claim: Claim;
  readonly resolve: (claimed: ClaimedMessage[] | Promise<ClaimedMessage[]>) => void;
  readonly reject: (error: unknown) => void;
}

/** How many claims on one destination share a look at its head. */
const CLAIMS_TOGETHER = 64;
/** And how much content they take into memory before the rest have to ask again. */
const MAX_BYTES_TOGETHER = 32 * 1024 * 1024;

/** Makes one job of the claims that reach a destination before its job runs. */
function gatherClaims(
  group: GroupCommit,
  claimTogether: (claims: readonly Claim[]) => (ClaimedMessage[] | undefined)[],
) {
  const waiting = new Map<number, WaitingClaim[]>();
  return function ask(claim: Claim): Promise<ClaimedMessage[]> {
    return new Promise((resolve, reject) => {
      const gathered = waiting.get(claim.destination);
      if (gathered !== undefined && gathered.length < CLAIMS_TOGETHER) {
        gathered.push({ claim, resolve, reject });
        return;
      }
      const batch: WaitingClaim[] = [{ claim, resolve, reject }];
      waiting.set(claim.destination, batch);
      const close = (): void => {
        if (waiting.get(claim.destination) === batch) waiting.delete(claim.destination);
      };
      group
        .submit(() => {
          close();
          return claimTogether(batch.map((each) => each.claim));
        })
        .then(
          (outcomes) => {
            for (const [index, each] of batch.entries()) each.resolve(outcomes[index] ?? ask(each.claim));
          },
          (error) => {
            // The group may have died before this job ran: nobody must join a batch that is over.
            close();
            for (const each of batch) each.reject(error);
          },
        );
    });
  };
}
