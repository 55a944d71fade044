import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../../../testing/folders.ts';
import { createSealer } from '../../ids.ts';
import { openSqlite } from '../../store/sqlite/sqlite.ts';
import { hashOfId } from '../../store/store.ts';
import { hashOfContent } from '../message.ts';
import { createDestinations, type Destinations } from './destinations.ts';
import { NO_TRANSACTIONS } from './enlisting.ts';
import { createPosting } from './posting.ts';

test('an id that a transaction holds is not called known, also when the queue was remembered wrongly', async () => {
  const store = await openSqlite(temporaryFolder());
  try {
    const real = createDestinations(store);
    // Deleted and made again by another node, and this one has not heard of it.
    const stale = await real.create('queue', 'q', {});
    await real.remove(stale, false, () => {});
    const present = await real.create('queue', 'q', {});
    const stored = [stale];
    const destinations: Destinations = { ...real, known: (kind, name) => stored.shift() ?? real.known(kind, name) };

    const draft = { contentType: null, fields: [], body: Buffer.from('body') };
    const name = { text: 'chosen', hash: hashOfId('chosen'), content: hashOfContent(null, draft.body) };
    const message = { id: store.nextId() * 2, contentType: null, headers: '[]', body: draft.body, rank: 5 };
    const held = { ...message, expires: null, delayedUntil: null };
    const posting = { destination: present.id, kind: 'queue', posted: store.now(), messages: [held], name } as const;
    assert.equal(await store.transaction((tx) => store.messages.postIn(tx, { ...posting, held: 1 })), 'stored');

    const options = { autoCreate: true, schedule: () => {}, enlister: NO_TRANSACTIONS };
    const { put } = createPosting(store, destinations, createSealer(store.secret), options);
    await assert.rejects(put('q', 'chosen', draft, { wishes: {} }), { code: 'conflict' });
    assert.equal(stored.length, 0);
  } finally {
    await store.close();
  }
});

test('a link that was used does not make its queue again, whenever that is deleted', async () => {
  const store = await openSqlite(temporaryFolder());
  try {
    const real = createDestinations(store);
    // Another node deletes the queue when this one has just seen it, and this one does not keep what it has seen.
    const destinations: Destinations = {
      ...real,
      known: () => undefined,
      async find(kind, name) {
        const found = await real.find(kind, name);
        if (found !== undefined) await real.remove(found, true, () => {});
        return found;
      },
    };
    const options = { autoCreate: true, schedule: () => {}, enlister: NO_TRANSACTIONS };
    const draft = { contentType: null, fields: [], body: Buffer.from('body') };
    const use = { chain: store.nextId(), n: 1, expires: store.now() + 1_000_000 };
    const once = { use, messageId: store.nextId() * 2 };
    const parcel = { kind: 'queue', name: 'q', drafts: [draft], wishes: {}, transaction: undefined, once } as const;
    const posting = (known: Destinations) => createPosting(store, known, createSealer(store.secret), options);
    assert.deepEqual(await posting(real).postOnce(parcel), [once.messageId]);
    assert.equal(await posting(destinations).postOnce(parcel), 'once-used');
    assert.equal(await real.find('queue', 'q'), undefined);
  } finally {
    await store.close();
  }
});
