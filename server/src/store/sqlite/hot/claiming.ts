/** Claiming on SQLite: claims on one queue that are there together share one look at its head. */
import type { DatabaseSync } from 'node:sqlite';
import { type Claim, CONSUMED, isVolatile, LEASED } from '../../store.ts';
import type { FoundMessage } from './wire.ts';

/** Content up to this comes with the look itself; larger is read when it is known to be wanted. */
const SMALL = 16 * 1024;
/** How much content the claims of a group may still take into memory. The last of them may take more. */
export interface ContentRoom {
  bytes: number;
}

/** A row as a list: as an object it would cost more than the look. */
type Head = readonly [
  id: number,
  rank: number,
  ord: number,
  size: number,
  tries: number,
  posted: number,
  contentType: string | null,
  headers: string,
  name: string | null,
  /** null: larger than what comes with a look. */
  body: Uint8Array | null,
];

/** The ready messages of a destination in their order, in one of the two places where they lie. */
const headIn = (schema: 'main' | 'volatile'): string =>
  `SELECT d.id, d.rank, d.ord, d.size, d.tries, m.posted, m.content_type, m.headers, m.name,
     CASE WHEN d.size <= ${SMALL} THEN m.body END AS body
   FROM ${schema}.delivery AS d CROSS JOIN ${schema}.message AS m ON m.id = d.id
   WHERE d.dest = ?1 AND d.state = 0 AND (d.expires IS NULL OR d.expires > ?2)`;

/** Carries out claims on one destination. Those for which there is no room get no outcome and have to ask again. */
export function createClaiming(
  db: DatabaseSync,
): (claims: readonly Claim[], room: ContentRoom) => (FoundMessage[] | undefined)[] {
  // Without a derived table around it SQLite merges the two ready indexes; with one it sorts everything.
  // The plus sign: see connection.ts.
  const head = db.prepare(`${headIn('main')} UNION ALL ${headIn('volatile')} ORDER BY 2, 3 LIMIT +?3`);
  head.setReturnArrays(true);
  const durable = statementsIn(db, 'main');
  const volatile = statementsIn(db, 'volatile');

  function take({ mode, due, token }: Claim, found: Head): FoundMessage {
    const [id, , , , tries, posted, contentType, headers, name, small] = found;
    const statements = isVolatile(id) ? volatile : durable;
    statements.take.run(mode === 'lease' ? LEASED : CONSUMED, due, token, id);
    const body = small ?? (statements.body.get(id) as { body: Uint8Array }).body;
    return { id, posted, contentType, headers, name, deliveries: tries + 1, body };
  }

  return (claims, room) => {
    const [{ destination, now }] = claims as [Claim];
    const wanted = claims.reduce((sum, claim) => sum + claim.max, 0);
    const heads = head.all(destination, now, wanted) as unknown as Head[];
    let next = 0;
    return claims.map((claim) => {
      if (room.bytes < 0) return undefined;
      const claimed: FoundMessage[] = [];
      let bytes = 0;
      while (next < heads.length && claimed.length < claim.max) {
        const found = heads[next] as Head;
        const size = found[3];
        bytes += size;
        if (claimed.length > 0 && bytes > claim.maxBytes) break;
        claimed.push(take(claim, found));
        room.bytes -= size;
        next++;
      }
      return claimed;
    });
  };
}

const statementsIn = (db: DatabaseSync, schema: 'main' | 'volatile') => ({
  // One by one: a statement for many of them is no faster, since SQLite makes a table of them first.
  take: db.prepare(`UPDATE ${schema}.delivery SET state = ?, due = ?, token = ?, tries = tries + 1 WHERE id = ?`),
  body: db.prepare(`SELECT body FROM ${schema}.message WHERE id = ?`),
});
