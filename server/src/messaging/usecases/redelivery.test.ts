import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freshDatabase } from '../../../../testing/databases.ts';
import { eventually } from '../../../../testing/eventually.ts';
import type { Problem } from '../../problems.ts';
import { openPostgres } from '../../store/postgres/postgres.ts';
import type { Store, Tx } from '../../store/store.ts';
import { DEAD_LETTER_ORIGIN } from '../message.ts';
import { findDestination, insertDestination, markDeadLetter } from '../queries/destinations.ts';
import { createClearing } from './clearing.ts';
import { createDestinations } from './destinations.ts';
import { createRedelivery } from './redelivery.ts';

// On one node everything happens one after another; it takes two to delete a queue while messages go into it.
let store: Store;
let other: Store;
let drop: () => Promise<void>;

before(async () => {
  const database = await freshDatabase();
  drop = database.drop;
  store = await openPostgres(database.url);
  other = await openPostgres(database.url);
});

after(async () => {
  await Promise.all([store?.close(), other?.close()]);
  await drop?.();
});

async function createQueue(name: string, settings: object = {}): Promise<number> {
  const fresh = { id: store.nextId(), kind: 'queue', name, settings, version: 1, created: 1 } as const;
  await store.transaction((tx) => insertDestination(tx, fresh));
  return fresh.id;
}

const post = (destination: number, headers: string) => {
  const id = store.nextId() * 2;
  const content = { contentType: null, headers, body: Buffer.from('x'), rank: 5, expires: null, delayedUntil: null };
  return store.messages.post({ destination, kind: 'queue', posted: 1, messages: [{ id, ...content }] });
};

/** A store whose transactions run something else right before they copy a message. */
function interrupted(interruption: () => Promise<void>): Store {
  const before = async (text: string): Promise<void> => {
    if (text.startsWith('INSERT INTO message')) await interruption();
  };
  const wrap = (tx: Tx): Tx => ({
    dialect: tx.dialect,
    all: (text, values) => tx.all(text, values),
    get: (text, values) => tx.get(text, values),
    run: (text, values) => before(text).then(() => tx.run(text, values)),
    finish: (text, values) => tx.finish(text, values),
  });
  return { ...store, transaction: (job) => store.transaction((tx) => job(wrap(tx))) };
}

/** Does the work while another node deletes the queue, which is empty as far as that one can see. */
async function whileDeleting<T>(name: string, work: (store: Store) => Promise<T>): Promise<T> {
  const destinations = createDestinations(other);
  const queue = await destinations.get('queue', name);
  let deletion: Promise<string> | undefined;
  const outcome = await work(
    interrupted(async () => {
      deletion = destinations
        .remove(queue, false, () => {})
        .then(
          () => 'deleted',
          (error: Problem) => error.code,
        );
      // It has to wait; if it does not, that shows in the end.
      const over = deletion.then(() => true);
      await eventually('the deletion waits, or is done', () => Promise.race([over, waitsForLock()]));
    }),
  );
  assert.equal(await deletion, 'destination-not-empty');
  return outcome;
}

async function waitsForLock(): Promise<boolean> {
  const text = `SELECT 1 AS waits FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  return (await other.read((tx) => tx.get(text))) !== undefined;
}

async function waitingIn(name: string): Promise<number> {
  return store.read(async (tx) => {
    const queue = await findDestination(tx, 'queue', name);
    if (queue === undefined) return 0;
    const rows = await tx.all('SELECT id FROM delivery WHERE dest = $1 AND state = 0', [queue.id]);
    return rows.length;
  });
}

test('a queue is not deleted as empty while a dead letter goes into it', async () => {
  const queue = await createQueue('busy', { 'max-deliveries': 1 });
  const dead = await createQueue('busy.dead');
  await store.transaction((tx) => markDeadLetter(tx, dead));
  await post(queue, '[]');
  const now = store.now();
  const claim = { destination: queue, max: 1, maxBytes: 1000, mode: 'lease', due: now - 1, token: 1, now } as const;
  assert.equal((await store.messages.claim(claim)).length, 1);
  await whileDeleting('busy.dead', (each) => createRedelivery(each).step());
  assert.equal(await waitingIn('busy.dead'), 1);
});

test('a queue is not deleted as empty while a message is sent back to it', async () => {
  await createQueue('origin');
  const dead = await createQueue('origin.dead');
  await post(dead, JSON.stringify([[DEAD_LETTER_ORIGIN, 'origin']]));
  const letters = await store.read((tx) => findDestination(tx, 'queue', 'origin.dead'));
  assert.ok(letters);
  const { moved } = await whileDeleting('origin', (each) => createClearing(each, 1000).redrive(letters, 10));
  assert.deepEqual([moved, await waitingIn('origin'), await waitingIn('origin.dead')], [1, 1, 0]);
});
