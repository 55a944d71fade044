/** SQL of who holds a message that is not visible yet. */
import type { Tx } from '../../store/store.ts';

/** What became of the message under an id or a once-only link. */
export type Holder = 'nobody' | 'visible' | { readonly transaction: number };

/** A message that is held is always durable, and has no place in the order yet: that is positive. */
export async function holderOf(tx: Tx, id: number | undefined): Promise<Holder> {
  if (id === undefined) return 'nobody';
  const { message, delivery } = tx.dialect.placeOf(id);
  const row = await tx.get<{ state: number | null; ord: number | null; tx: number | null }>(
    `SELECT d.state, d.ord, d.tx FROM ${message} m LEFT JOIN ${delivery} d ON d.id = m.id WHERE m.id = $1`,
    [id],
  );
  if (row === undefined) return 'nobody';
  return row.state === 4 && (row.ord ?? 0) <= 0 && row.tx !== null ? { transaction: row.tx } : 'visible';
}
