import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../../../../testing/folders.ts';
import { range, using } from '../../cases/tools.ts';
import type { Posting } from '../../store.ts';
import { openSqlite } from '../sqlite.ts';

const BODY = Buffer.alloc(16 * 1024 * 1024);
/** More than 256 MiB, and one that comes when they are there. */
const MESSAGES = range(18);

const WAYS: readonly [name: string, more: Partial<Posting>][] = [
  ['on the hot path', {}],
  ['in transactions', { limits: { length: 1000 } }],
];

for (const [name, more] of WAYS) {
  test(`volatile messages that are posted ${name} find no room when there are too many, and find it again`, async (t) => {
    const store = await openSqlite(temporaryFolder({ inMemory: true }), { reserveBytes: 0 });
    t.after(() => store.close());
    const on = using(store);
    const queue = await on.create('queue');
    for (const _ of MESSAGES) {
      assert.equal(await on.post(queue, [on.message({ body: BODY, volatile: true })], more), 'stored');
    }
    assert.equal(store.messages.hasVolatileRoom(), false);
    for (const _ of MESSAGES) assert.equal((await on.claim(queue, { mode: 'consume', due: 1 })).length, 1);
    await store.messages.forgetFinished({ after: 0, now: 2, kept: 0, rememberIds: 0 });
    // Looks are good for some milliseconds; both threads look again when they write.
    const until = performance.now() + 10_000;
    while (!store.messages.hasVolatileRoom() && performance.now() < until) {
      await store.ping();
      await store.messages.forgetFinished({ after: 0, now: 2, kept: 0, rememberIds: 0 });
    }
    assert.equal(store.messages.hasVolatileRoom(), true);
  });
}
