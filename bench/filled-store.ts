/** Fills a store through its seam, in large pieces: a million messages in seconds, without HTTP. */
import { openStore } from '../server/src/store/open.ts';
import type { Store } from '../server/src/store/store.ts';
import type { WaypostOptions } from '../testing/waypost.ts';

export type Engine = 'sqlite' | 'postgresql';

/** Messages of one posting; it is stored as one step. */
const PIECE = 500;
/** Postings on their way at once: few enough that the store always has ids for them. */
const AHEAD = 2;

export interface Filling {
  readonly queue: string;
  readonly messages: number;
  readonly bodyBytes: number;
}

export async function fillStore(place: WaypostOptions, fillings: readonly Filling[], note: (text: string) => void) {
  const location = { database: place.database, folder: place.data ?? '', reserveBytes: 0 };
  const store = await openStore(location, () => {});
  try {
    for (const filling of fillings) await fillQueue(store, filling, note);
  } finally {
    await store.close();
  }
}

async function fillQueue(store: Store, { queue, messages, bodyBytes }: Filling, note: (text: string) => void) {
  const destination = store.nextId();
  await store.transaction((tx) =>
    tx.run('INSERT INTO destination (id, kind, name, settings, version, created) VALUES ($1, $2, $3, $4, $5, $6)', [
      destination,
      'queue',
      queue,
      '{}',
      1,
      store.now(),
    ]),
  );
  const body = Buffer.alloc(bodyBytes, 'x');
  let stored = 0;
  const postPiece = async (size: number): Promise<void> => {
    const outcome = await store.messages.post({
      destination,
      kind: 'queue',
      posted: store.now(),
      messages: Array.from({ length: size }, () => ({
        id: store.nextId() * 2,
        contentType: 'text/plain',
        headers: '[]',
        body,
        rank: 5,
        expires: null,
        delayedUntil: null,
      })),
    });
    if (outcome !== 'stored') throw new Error(`the store could not be filled: ${outcome}`);
    stored += size;
    note(`filling ${queue} (${store.engine}): ${stored.toLocaleString('en')} of ${messages.toLocaleString('en')}`);
  };
  let left = messages;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      const size = Math.min(PIECE, left);
      left -= size;
      await postPiece(size);
    }
  };
  await Promise.all(Array.from({ length: AHEAD }, lane));
}
