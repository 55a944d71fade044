/** SQL of create-next chains; using a link is part of posting (see store/). */
import type { Tx } from '../../store/store.ts';

/** Whether a link of a chain was used: what is kept of the chain is the number of the last one that was. */
export async function isUsed(tx: Tx, { chain, n }: { chain: number; n: number }): Promise<boolean> {
  const last = await tx.get<{ n: number }>('SELECT n FROM once_chain WHERE chain = $1', [chain]);
  return last !== undefined && last.n >= n;
}

/** The messages a batch's link made. */
export async function batchOfLink(tx: Tx, chain: number, n: number): Promise<number[] | undefined> {
  const text = 'SELECT messages FROM once_batch WHERE chain = $1 AND n = $2';
  const row = await tx.get<{ messages: string }>(text, [chain, n]);
  return row && (JSON.parse(row.messages) as number[]);
}
