/** Posts to many queues at once, whose deliveries are noted first: nobody may be able to tell. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, test } from 'node:test';
import { temporaryFolder } from '../../../../testing/folders.ts';
import type { Claim, Store } from '../store.ts';
import { databaseIn } from './database.ts';
import { openSqlite } from './sqlite.ts';

const QUEUES = 40;
const NEVER = 2 ** 50;

let folder: string;
let store: Store;
let queues: number[];

beforeEach(async () => {
  folder = temporaryFolder();
  store = await openSqlite(folder);
  queues = Array.from({ length: QUEUES }, () => store.nextId());
  await store.transaction(async (tx) => {
    for (const id of queues) {
      const text = `INSERT INTO destination (id, kind, name, settings, version, created) VALUES ($1, 'queue', $2, '{}', 1, 1)`;
      await tx.run(text, [id, `queue ${id}`]);
    }
  });
});

afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function post(destination: number, text: string): Promise<void> {
  const message = {
    id: store.nextId() * 2,
    contentType: null,
    headers: '[]',
    body: Buffer.from(text),
    rank: 5,
    delayedUntil: null,
    expires: null,
  };
  const outcome = await store.messages.post({ destination, kind: 'queue', posted: 1, messages: [message] });
  assert.equal(outcome, 'stored');
}

/** So often that most posts find others to share a group with. */
async function postToAll(times: number): Promise<void> {
  const posts: Promise<void>[] = [];
  for (let time = 0; time < times; time++) for (const queue of queues) posts.push(post(queue, `${queue} ${time}`));
  await Promise.all(posts);
}

const claimFrom = (destination: number, max: number, from = store) => {
  const claim: Claim = { destination, max, maxBytes: 1e9, mode: 'consume', due: NEVER, token: 1, now: 2 };
  return from.messages.claim(claim);
};

/** As somebody sees it who is not Waypost. */
function notedOnDisk(): number {
  const db = new DatabaseSync(databaseIn(folder).file, { readOnly: true });
  try {
    return (db.prepare('SELECT coalesce(sum(count), 0) AS count FROM noted_deliveries').get() as { count: number })
      .count;
  } finally {
    db.close();
  }
}

test('claims find what was only noted, in the order of arrival', async () => {
  await postToAll(5);
  assert.ok(notedOnDisk() > 0, 'this test is about noted deliveries');
  for (const queue of queues) {
    const found = await claimFrom(queue, 10);
    const texts = found.map(({ body }) => body.toString());
    assert.deepEqual(
      texts,
      Array.from({ length: 5 }, (_, time) => `${queue} ${time}`),
    );
  }
  assert.equal(notedOnDisk(), 0);
});

test('every transaction sees what was only noted', async () => {
  await postToAll(3);
  assert.ok(notedOnDisk() > 0);
  const count = 'SELECT count(*) AS count FROM delivery WHERE state = 0';
  const row = await store.read((tx) => tx.get<{ count: number }>(count));
  assert.equal(row?.count, 3 * QUEUES);
  assert.equal(notedOnDisk(), 0);
});

test('no more is noted than a turn can enter', async () => {
  await postToAll(100);
  assert.ok(notedOnDisk() <= 512);
  for (const queue of queues) assert.equal((await claimFrom(queue, 200)).length, 100);
});

test('what was noted is there after the service was stopped', async () => {
  await postToAll(2);
  assert.ok(notedOnDisk() > 0);
  await store.close();
  store = await openSqlite(folder);
  for (const queue of queues) assert.equal((await claimFrom(queue, 10)).length, 2);
});

test('what was noted is there after a crash', async () => {
  await postToAll(2);
  assert.ok(notedOnDisk() > 0);
  const { file } = databaseIn(folder);
  const crashed = temporaryFolder();
  for (const end of ['', '-wal']) {
    if (existsSync(file + end)) copyFileSync(file + end, join(crashed, file.slice(folder.length + 1) + end));
  }
  const revived = await openSqlite(crashed);
  try {
    for (const queue of queues) assert.equal((await claimFrom(queue, 10, revived)).length, 2);
  } finally {
    await revived.close();
    rmSync(crashed, { recursive: true, force: true });
  }
});

test('posts and claims at the same time lose and double nothing', async () => {
  const received: string[] = [];
  const claimers = queues.slice(0, 10).map(async (queue) => {
    for (let left = 30; left > 0; ) {
      const found = await claimFrom(queue, 4);
      for (const { body } of found) received.push(body.toString());
      left -= found.length;
    }
  });
  await Promise.all([postToAll(30), ...claimers]);
  const expected = queues.slice(0, 10).flatMap((queue) => Array.from({ length: 30 }, (_, time) => `${queue} ${time}`));
  assert.deepEqual(received.toSorted(), expected.toSorted());
  for (const queue of queues.slice(10)) assert.equal((await claimFrom(queue, 100)).length, 30);
});
