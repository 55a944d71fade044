/**
 * SQL of what became of an id that a client chose, or of a once-only link. Each is one statement: between two, a transaction
 * that holds it could end, and what it has undone would look like what it has done.
 */
import type { Tx } from '../../store/store.ts';

/** `free`: nobody has used it, or whoever did was rolled back. */
export type Use = 'free' | 'done' | { readonly transaction: number };

interface Row {
  readonly txn: number | null;
}

const useIn = (row: Row | undefined): Use => {
  if (row === undefined) return 'free';
  return row.txn === null ? 'done' : { transaction: row.txn };
};

/** What is kept of a chain is the number of its last link that was used. */
export async function useOfLink(tx: Tx, { chain, n }: { chain: number; n: number }): Promise<Use> {
  const row = await tx.get<Row>(
    `SELECT (SELECT txn FROM txn_message WHERE chain = $1 AND link = $2 LIMIT 1) AS txn
     FROM once_chain WHERE chain = $1 AND n >= $2`,
    [chain, n],
  );
  return useIn(row);
}

/** With the hash of what was posted under the id, where there is something. */
export async function useOfName(
  tx: Tx,
  destination: number,
  hash: Buffer,
): Promise<{ readonly use: Use; readonly content: Uint8Array | undefined }> {
  const row = await tx.get<Row & { readonly content: Uint8Array }>(
    `SELECT content, (SELECT txn FROM txn_message WHERE dest = $1 AND name_hash = $2 LIMIT 1) AS txn
     FROM message_name WHERE dest = $1 AND hash = $2`,
    [destination, hash],
  );
  return { use: useIn(row), content: row?.content };
}

/** The messages a batch's link made. */
export async function batchOfLink(tx: Tx, chain: number, n: number): Promise<number[] | undefined> {
  const text = 'SELECT messages FROM once_batch WHERE chain = $1 AND n = $2';
  const row = await tx.get<{ messages: string }>(text, [chain, n]);
  return row && (JSON.parse(row.messages) as number[]);
}
