/**
 * Chains of once-only links: the number of the link that was used last. A client goes on with the chain it has, so what a
 * use finds is nearly always what this thread wrote before: it is remembered, and the new numbers of a group are written
 * together. Whatever is not as remembered is decided by the table.
 */
import type { DatabaseSync } from 'node:sqlite';
import { createRowBuffer } from '../row-buffer.ts';
import type { HotPosting } from './wire.ts';

/** Bounded: clients make as many chains as they like. */
const MOST_REMEMBERED = 4096;

export interface Chains {
  /** Uses a link. False: it was used before. */
  use(link: NonNullable<HotPosting['once']>): boolean;
  /** Writes what was put off. */
  flush(): void;
  /** What was put off, or written, was rolled back; or others may have used links. */
  forget(): void;
}

export function createChains(db: DatabaseSync): Chains {
  const advanced = createRowBuffer(db, 'once_chain', ['chain', 'n', 'expires'], {
    onConflict: 'ON CONFLICT (chain) DO UPDATE SET n = excluded.n',
  });
  // Until when a chain is remembered is a whole hour (see once.ts), so that most uses change a number and no index.
  const useLink = db.prepare(
    `INSERT INTO once_chain (chain, n, expires) VALUES (?, ?, ?)
     ON CONFLICT (chain) DO UPDATE SET n = excluded.n, expires = max(once_chain.expires, excluded.expires)
     WHERE once_chain.n = excluded.n - 1 RETURNING expires`,
  );
  const remembered = new Map<number, { n: number; readonly expires: number }>();

  function useStored({ chain, n, expires }: NonNullable<HotPosting['once']>): boolean {
    advanced.flush();
    const used = useLink.get(chain, n, expires) as { expires: number } | undefined;
    if (used === undefined) return false;
    if (remembered.size === MOST_REMEMBERED) remembered.clear();
    remembered.set(chain, { n, expires: used.expires });
    return true;
  }

  return {
    use(link) {
      const last = remembered.get(link.chain);
      if (last === undefined || last.n !== link.n - 1 || last.expires < link.expires) return useStored(link);
      last.n = link.n;
      advanced.add(link.chain, link.n, last.expires);
      return true;
    },
    flush: advanced.flush,
    forget() {
      advanced.discard();
      remembered.clear();
    },
  };
}
