/** Shorthands for the suite that every engine runs. */
import type { Claim, NewMessage, Posting, Settlement, Store } from '../store.ts';

export const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
export const idsOf = (messages: readonly { id: number }[]): number[] => messages.map(({ id }) => id);

export type Shorthands = ReturnType<typeof using>;

/** Shorthands on one store. */
export function using(store: Store) {
  let names = 0;
  const create = async (kind: 'queue' | 'topic'): Promise<number> => {
    const id = store.nextId();
    await store.transaction(async (tx) => {
      await tx.run(
        `INSERT INTO destination (id, kind, name, settings, version, created) VALUES ($1, $2, $3, '{}', 1, 0)`,
        [id, kind, `${kind}-${id}-${names++}`],
      );
      if (kind === 'topic') await tx.run('INSERT INTO topic_position (dest, last) VALUES ($1, 0)', [id]);
    });
    return id;
  };
  const message = (more: Partial<NewMessage> & { volatile?: boolean; text?: string } = {}): NewMessage => {
    const { volatile, text, ...fields } = more;
    return {
      id: store.nextId() * 2 + (volatile ? 1 : 0),
      contentType: 'text/plain',
      headers: '[]',
      body: Buffer.from(text ?? 'hello'),
      rank: 5,
      expires: null,
      delayedUntil: null,
      ...fields,
    };
  };
  const post = (destination: number, messages: readonly NewMessage[], more: Partial<Posting> = {}) =>
    store.messages.post({ destination, kind: 'queue', posted: 1_000, messages, ...more });
  const claim = (destination: number, more: Partial<Claim> = {}) =>
    store.messages.claim({
      destination,
      max: 1,
      maxBytes: 1_000_000,
      mode: 'lease',
      due: 60_000,
      token: store.nextId(),
      now: 1_000,
      ...more,
    });
  const settle = (id: number, token: number, more: Partial<Settlement> = {}) =>
    store.messages.settle({ id, token, verdict: 'acknowledge', due: 90_000, maxDeliveries: 10, now: 2_000, ...more });
  const delivery = (id: number) =>
    store.read((tx) =>
      tx.get<{ state: number; due: number | null; tries: number; token: number }>(
        `SELECT state, due, tries, token FROM ${tx.dialect.placeOf(id).delivery} WHERE id = $1`,
        [id],
      ),
    );
  const stored = (destination: number) =>
    store.read(async (tx) => {
      const ids: number[] = [];
      for (const place of tx.dialect.places) {
        const rows = await tx.all<{ id: number }>(`SELECT id FROM ${place.message} WHERE dest = $1`, [destination]);
        ids.push(...idsOf(rows));
      }
      return ids.sort((a, b) => a - b);
    });
  return { create, message, post, claim, settle, delivery, stored };
}

/** The store of a suite, which is opened before its first case. */
export interface Subject {
  readonly store: Store;
  readonly on: Shorthands;
}
