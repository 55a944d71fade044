/** Claims that arrived together, in one statement. */
import type { Claim, ClaimedMessage, Row, SqlValue } from '../store.ts';
import type { Place, Start } from './floors.ts';
import { AGAIN } from './gather.ts';

/** The bodies of one answer, over all its claims. The first message of a batch is given whatever its size. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * Each queue is looked at once for all its claims, since SKIP LOCKED does not protect a statement from itself. The
 * messages found fill numbered slots (`slot`), first come first served: $7 tells which claim owns a slot, and $8 to
 * $11 hold what each claim asks for. A queue's messages are given up to the first that passes a claim's bytes or the
 * batch's; what lies beyond stays where it is. Claims own slots in their order, so that one sort serves all windows.
 */
export const claims = `
  WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::int[], $3::smallint[], $4::bigint[], $5::bigint[], $6::int[])
      AS t (dest, n, rank, ord, now, base)),
  found AS MATERIALIZED (
    SELECT head.*, (base + row_number() OVER (PARTITION BY head.dest ORDER BY head.rank, head.ord))::int AS slot
    FROM wanted CROSS JOIN LATERAL (
      SELECT id, durable, dest, rank, ord, size FROM delivery
      WHERE delivery.dest = wanted.dest AND state = 0 AND (delivery.rank, delivery.ord) >= (wanted.rank, wanted.ord)
        AND (expires IS NULL OR expires > wanted.now)
      ORDER BY dest, rank, ord LIMIT wanted.n FOR UPDATE SKIP LOCKED) AS head),
  owned AS (SELECT found.*, ($7::int[])[slot] AS claim FROM found),
  summed AS (
    SELECT owned.*, row_number() OVER batch AS nth_of_all, sum(size) OVER batch AS bytes_of_all,
           row_number() OVER mine AS nth, sum(size) OVER mine AS bytes
    FROM owned
    WINDOW batch AS (ORDER BY dest, claim, slot), mine AS (PARTITION BY dest, claim ORDER BY slot)),
  decided AS MATERIALIZED (
    SELECT summed.*, bool_and((nth = 1 OR bytes <= ($11::bigint[])[claim])
                              AND (nth_of_all = 1 OR bytes_of_all <= $12::bigint))
                     OVER (PARTITION BY dest ORDER BY claim, slot) AS given
    FROM summed),
  taken AS (
    UPDATE delivery SET state = ($10::smallint[])[claim], due = ($8::bigint[])[claim], tries = delivery.tries + 1,
                        token = ($9::bigint[])[claim]
    FROM decided WHERE delivery.id = decided.id AND delivery.durable = decided.durable AND given
    RETURNING claim, delivery.id, delivery.durable, delivery.dest, delivery.rank, delivery.ord, delivery.tries)
  SELECT claim, taken.id, taken.dest, rank, ord, tries, posted, content_type, headers, name, body
  FROM taken JOIN message ON message.id = taken.id AND message.durable = taken.durable
  UNION ALL SELECT claim, NULL, dest, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM decided WHERE NOT given`;

interface FoundRow extends Place {
  readonly claim: number;
  readonly dest: number;
  /** null: found, but left where it is. */
  readonly id: number | null;
  readonly tries: number;
  readonly posted: number;
  readonly content_type: string | null;
  readonly headers: string;
  readonly name: string | null;
  readonly body: Buffer;
}

/** The claims of a batch by destination, in the order of their arrival. */
function byDestination(batch: readonly Claim[]): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  for (const [index, { destination }] of batch.entries()) {
    const group = groups.get(destination);
    if (group === undefined) groups.set(destination, [index]);
    else group.push(index);
  }
  return groups;
}

export function claimValues(batch: readonly Claim[], placeOf: (destination: number) => Place): SqlValue[] {
  const destinations: number[] = [];
  const limits: number[] = [];
  const ranks: number[] = [];
  const ords: number[] = [];
  const nows: number[] = [];
  const bases: number[] = [];
  const owners: number[] = [];
  for (const [destination, group] of byDestination(batch)) {
    const { rank, ord } = placeOf(destination);
    let now = 0;
    destinations.push(destination);
    ranks.push(rank);
    ords.push(ord);
    bases.push(owners.length);
    const before = owners.length;
    for (const index of group) {
      const claim = batch[index] as Claim;
      now = Math.max(now, claim.now);
      for (let slot = 0; slot < claim.max; slot++) owners.push(index + 1);
    }
    limits.push(owners.length - before);
    nows.push(now);
  }
  return [
    destinations,
    limits,
    ranks,
    ords,
    nows,
    bases,
    owners,
    batch.map((claim) => claim.due),
    batch.map((claim) => claim.token),
    batch.map((claim) => (claim.mode === 'lease' ? 1 : 5)),
    batch.map((claim) => claim.maxBytes),
    MAX_ANSWER_BYTES,
  ];
}

/** Splits the rows among the claims. A claim that got nothing, though its queue had more to give, is tried again. */
export function claimOutcomes(
  batch: readonly Claim[],
  rows: readonly Row[],
  starts: ReadonlyMap<number, Start>,
): (ClaimedMessage[] | typeof AGAIN)[] {
  const given: FoundRow[][] = batch.map(() => []);
  const cutShort = new Set<number>();
  for (const row of rows as unknown as FoundRow[]) {
    if (row.id === null) cutShort.add(row.dest);
    else given[row.claim - 1]?.push(row);
  }
  return batch.map((claim, index) => {
    const found = given[index] ?? [];
    if (found.length === 0 && cutShort.has(claim.destination)) return AGAIN;
    found.sort((a, b) => a.rank - b.rank || a.ord - b.ord);
    const last = found.at(-1);
    if (last !== undefined) starts.get(claim.destination)?.raise(last);
    return found.map((row) => ({
      id: row.id as number,
      destination: claim.destination,
      position: null,
      posted: row.posted,
      contentType: row.content_type,
      headers: row.headers,
      name: row.name,
      body: row.body,
      deliveries: row.tries,
      token: claim.token,
    }));
  });
}
