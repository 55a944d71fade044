/** The hot thread beside the others that use the database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../../../../testing/folders.ts';
import { range, using } from '../../cases/tools.ts';
import { openSqlite } from '../sqlite.ts';

test('the first call finds the database in use and waits for its turn', async (t) => {
  for (const _ of range(10)) {
    const store = await openSqlite(temporaryFolder());
    t.after(() => store.close());
    const writes = range(300).map((chain) =>
      store.transaction((tx) => tx.run('INSERT INTO once_chain (chain, n, expires) VALUES ($1, 1, 1)', [chain])),
    );
    assert.deepEqual(await using(store).claim(1), []);
    await Promise.all(writes);
  }
});

test('what is called before the store closes is still carried out', async () => {
  const folder = temporaryFolder();
  const store = await openSqlite(folder);
  const on = using(store);
  const queue = await on.create('queue');
  const messages = range(1000).map(() => on.message());
  const posted = messages.map((message) => on.post(queue, [message]));
  await store.close();
  assert.deepEqual(new Set(await Promise.all(posted)), new Set(['stored']));
  await assert.rejects(on.claim(queue), /closed/);
  await assert.rejects(on.create('queue'), /closed/);
  const again = await openSqlite(folder);
  assert.equal((await using(again).stored(queue)).length, messages.length);
  await again.close();
});

test('a call that cannot be written is told so, and nothing waits for it', async () => {
  const store = await openSqlite(temporaryFolder({ inMemory: true }));
  const on = using(store);
  const queue = await on.create('queue');
  const unwritable = { length: 3 } as never;
  await assert.rejects(on.post(queue, [on.message({ contentType: unwritable })]), TypeError);
  assert.equal(await on.post(queue, [on.message({ contentType: 'new/text' })]), 'stored');
  assert.equal((await on.claim(queue))[0]?.contentType, 'new/text');
  await store.close();
});

test('more than may wait is refused, and the rest is carried out', async (t) => {
  const store = await openSqlite(temporaryFolder({ inMemory: true }));
  t.after(() => store.close());
  const on = using(store);
  const queue = await on.create('queue');
  const body = Buffer.alloc(10 * 1024 * 1024);
  const posts = await Promise.allSettled(range(10).map(() => on.post(queue, [on.message({ body })])));
  const stored = posts.filter(({ status }) => status === 'fulfilled').length;
  assert.equal(stored, 6);
  for (const post of posts) if (post.status === 'rejected') assert.equal(post.reason.code, 'busy');
  assert.equal((await on.stored(queue)).length, stored);
  assert.equal(await on.post(queue, [on.message()]), 'stored');
});

test('more than fits into the lines goes through them, in its order and unharmed', async (t) => {
  const store = await openSqlite(temporaryFolder({ inMemory: true }));
  t.after(() => store.close());
  const on = using(store);
  const queue = await on.create('queue');
  // Twelve mebibytes at once, in each direction; the lines have room for four.
  const bodies = range(200).map((value) => Buffer.alloc(60 * 1024, value));
  const posts = bodies.map((body) => on.post(queue, [on.message({ body })]));
  assert.deepEqual(new Set(await Promise.all(posts)), new Set(['stored']));
  const claimed = await Promise.all(bodies.map(() => on.claim(queue)));
  for (const [index, [message, ...none]] of claimed.entries()) {
    assert.deepEqual(none, []);
    assert.ok(bodies[index]?.equals(message?.body ?? Buffer.alloc(0)));
  }
});

test('a posting and a claim of many messages travel in one piece', async (t) => {
  const store = await openSqlite(temporaryFolder({ inMemory: true }));
  t.after(() => store.close());
  const on = using(store);
  const queue = await on.create('queue');
  const sizes = [1, 70_000, 1000, 500_000, 0, 65_536, 65_535];
  const messages = sizes.map((size, index) =>
    on.message({ body: Buffer.alloc(size, index), contentType: `a/${index}` }),
  );
  assert.equal(await on.post(queue, messages), 'stored');
  const claimed = await on.claim(queue, { max: 100 });
  assert.deepEqual(
    claimed.map(({ id, contentType, body }) => ({ id, contentType, body })),
    messages.map(({ id, contentType, body }) => ({ id, contentType, body })),
  );
});
