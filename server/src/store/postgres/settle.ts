/**
 * Settlements that arrived together, in one statement. Their ids must differ and ascend: that is the lock order.
 *
 * There are two statements, and each settlement is decided by one of them: what was decided must not be looked at again, since
 * others may have changed it meanwhile.
 */
import { isVolatile, type Row, type Settlement, type SettleOutcome, type SqlValue } from '../store.ts';
import type { Floors } from './floors.ts';
import { AGAIN } from './gather.ts';

/**
 * Acknowledges the deliveries that are leased under the tokens given, which nearly always are all of them: half the work of
 * `settlements`, which looks at each first. Gives the ids of those that it has acknowledged, or nothing when they are all.
 *
 * `state + 0` keeps the server from the partial indexes on the state, which hold every delivery that is leased.
 */
export const acknowledgements = `
  WITH done AS (
    UPDATE delivery_durable SET state = 5, due = ($3::bigint[])[width_bucket(id, $1::bigint[])]
    WHERE id = ANY ($1::bigint[]) AND durable AND state + 0 = 1
      AND token = ($2::bigint[])[width_bucket(id, $1::bigint[])]
    RETURNING id)
  SELECT coalesce(string_agg(id::text, ','), '') AS ids FROM done HAVING count(*) <> cardinality($1::bigint[])`;

/** Undefined when some are not acknowledgements of durable messages. */
export function acknowledgementValues(ascending: readonly Settlement[]): SqlValue[] | undefined {
  const ids: number[] = [];
  const tokens: number[] = [];
  const dues: (number | null)[] = [];
  for (const { id, token, verdict, due } of ascending) {
    if (verdict !== 'acknowledge' || isVolatile(id)) return undefined;
    ids.push(id);
    tokens.push(token);
    dues.push(due);
  }
  return [ids, tokens, dues as number[]];
}

const VERDICTS = { acknowledge: 0, return: 1, extend: 2 } as const;

/** `becomes` is the new state, null when the settlement comes too late; `acknowledged`: because of its own acknowledgement. A repeated acknowledgement writes nothing. */
export const settlements = `
  WITH verdict AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::int[], $6::bigint[])
      WITH ORDINALITY AS t (id, token, verdict, due, most, now, n)),
  locked AS MATERIALIZED (
    SELECT n, verdict, verdict.due, now, verdict = 1 AND held.tries >= most AS dead, held.token = verdict.token AS newest,
           held.id, held.durable, held.dest, held.rank, held.ord, held.state
    FROM verdict CROSS JOIN LATERAL (
      SELECT * FROM delivery WHERE delivery.id = verdict.id AND delivery.durable = (verdict.id % 2 = 0)
      FOR UPDATE) AS held),
  decided AS MATERIALIZED (
    SELECT locked.*, CASE
        WHEN NOT newest OR state NOT IN (0, 1, 2, 5) OR (verdict = 2 AND state = 5) THEN NULL
        WHEN verdict = 0 THEN 5
        WHEN verdict = 2 OR dead THEN 1
        WHEN due IS NULL THEN 0
        ELSE 2 END AS becomes
    FROM locked),
  changed AS (
    UPDATE delivery SET state = becomes, due = CASE WHEN dead THEN now ELSE decided.due END
    FROM decided
    WHERE delivery.id = decided.id AND delivery.durable = decided.durable AND becomes IS NOT NULL
      AND NOT (verdict = 0 AND decided.state = 5))
  SELECT n, becomes, dead, newest AND state = 5 AS acknowledged, dest, rank, ord FROM decided`;

export interface SettledRow {
  readonly n: number;
  readonly becomes: number | null;
  readonly dead: boolean;
  readonly acknowledged: boolean;
  readonly dest: number;
  readonly rank: number;
  readonly ord: number;
}

export function settleValues(ascending: readonly Settlement[]): SqlValue[] {
  return [
    ascending.map(({ id }) => id),
    ascending.map(({ token }) => token),
    ascending.map(({ verdict }) => VERDICTS[verdict]),
    ascending.map(({ due }) => due) as number[],
    // "Never" may be given as a number that does not fit the column.
    ascending.map(({ maxDeliveries }) => Math.min(maxDeliveries, 2_147_483_647)),
    ascending.map(({ now }) => now),
  ];
}

export function settleOutcomes(ascending: readonly Settlement[], rows: readonly Row[]): SettleOutcome[] {
  const outcomes: SettleOutcome[] = ascending.map(() => 'gone');
  for (const { n, becomes, dead, acknowledged } of rows as unknown as SettledRow[]) {
    if (becomes === null) outcomes[n - 1] = acknowledged ? 'acknowledged' : 'overtaken';
    else outcomes[n - 1] = dead ? 'dead' : 'done';
  }
  return outcomes;
}

type Query = (text: string, values: readonly SqlValue[]) => Promise<readonly Row[]>;

/** Settles a batch. Those whose outcome is `AGAIN` have to come again, and are then looked at one by one. */
export function createSettler(
  query: Query,
  floors: Pick<Floors, 'lower'>,
): (batch: readonly Settlement[]) => Promise<(SettleOutcome | typeof AGAIN)[]> {
  /** Those that `acknowledgements` has left alone. */
  const toBeLookedAt = new WeakSet<Settlement>();

  async function acknowledge(batch: readonly Settlement[], values: readonly SqlValue[]) {
    const [rest] = (await query(acknowledgements, values)) as { ids: string }[];
    const done = rest && new Set(rest.ids.split(',').map(Number));
    return batch.map((call) => {
      if (done === undefined || done.has(call.id)) return 'done';
      toBeLookedAt.add(call);
      return AGAIN;
    });
  }

  async function lookAtEach(batch: readonly Settlement[], ascending: readonly Settlement[]): Promise<SettleOutcome[]> {
    const rows = await query(settlements, settleValues(ascending));
    for (const { becomes, dest, rank, ord } of rows as unknown as SettledRow[]) {
      if (becomes === 0) floors.lower(dest, { rank, ord });
    }
    const outcomes = settleOutcomes(ascending, rows);
    const outcomeOf = new Map(ascending.map((call, index) => [call, outcomes[index] as SettleOutcome]));
    return batch.map((call) => outcomeOf.get(call) as SettleOutcome);
  }

  return (batch) => {
    const ascending = batch.toSorted((a, b) => a.id - b.id);
    const isNew = !batch.some((call) => toBeLookedAt.has(call));
    const values = isNew ? acknowledgementValues(ascending) : undefined;
    return values === undefined ? lookAtEach(batch, ascending) : acknowledge(batch, values);
  };
}
