/** How much may wait in a destination, and how much does: one SQL text for both engines. */
import { IS_ASIDE, type Posting, type Tx } from './store.ts';

export type Limits = NonNullable<Posting['limits']>;

/** Whether so much may wait. */
export function hasRoom({ length, bytes }: Required<Limits>, limits: Limits): boolean {
  return length <= (limits.length ?? Number.POSITIVE_INFINITY) && bytes <= (limits.bytes ?? Number.POSITIVE_INFINITY);
}

/** What waits, counted to one past the limit. Consumed and dead messages do not count. The destination must be locked. */
export async function countForLimits(
  tx: Tx,
  { kind, destination }: Pick<Posting, 'kind' | 'destination'>,
  limits: Limits,
): Promise<Required<Limits>> {
  let length = 0;
  let bytes = 0;
  for (const place of tx.dialect.places) {
    // What will appear later counts as well: it was promised its room.
    const inPlace =
      kind === 'queue'
        ? `SELECT size FROM ${place.delivery} WHERE dest = $1 AND state = 0`
        : `SELECT length(body) AS size FROM ${place.message} WHERE dest = $1 AND pos IS NOT NULL`;
    const counted = `${inPlace} UNION ALL SELECT size FROM ${place.delivery} WHERE dest = $1 AND ${IS_ASIDE}`;
    const row = await tx.get<{ length: number; bytes: number | null }>(
      `SELECT count(*) AS length, CAST(sum(size) AS BIGINT) AS bytes FROM (${counted} LIMIT $2) AS waiting`,
      [destination, (limits.length ?? Number.MAX_SAFE_INTEGER - 1) + 1],
    );
    length += row?.length ?? 0;
    bytes += row?.bytes ?? 0;
  }
  return { length, bytes };
}
