import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../../testing/folders.ts';
import { createSealer, MARK, newToken } from '../ids.ts';
import { openSqlite } from '../store/sqlite/sqlite.ts';
import { makeDestination } from './destination.ts';
import { createMessaging } from './messaging.ts';

test('the word of a delivery is read at its message and queue only, and any slip in it is noticed', async (t) => {
  const store = await openSqlite(temporaryFolder());
  t.after(() => store.close());
  const sealer = createSealer(store.secret);
  const enlister = { inTransaction: () => assert.fail('there is no transaction') };
  const options = { autoCreate: true, maxWaiting: 1, rememberIds: 1, onceLifetime: 1, enlister };
  const { deliveryWord, tokenOf } = createMessaging(store, sealer, options);
  const queueOf = (id: number) =>
    makeDestination({ id, kind: 'queue', name: `q${id}`, settings: {}, version: 1, created: 1 }, false);
  const queue = queueOf(1);

  for (const token of [1, 36 ** 3, newToken(), newToken(), 2 ** 48]) {
    const word = deliveryWord(queue, 'id', token);
    assert.equal(tokenOf(queue, 'id', word), token);
    assert.equal(tokenOf(queue, 'other', word), undefined);
    assert.equal(tokenOf(queueOf(2), 'id', word), undefined);
    for (let at = 0; at < word.length; at++) {
      const letter = word[at] === '7' ? '8' : '7';
      assert.equal(tokenOf(queue, 'id', word.slice(0, at) + letter + word.slice(at + 1)), undefined, `letter ${at}`);
      assert.equal(tokenOf(queue, 'id', word.slice(0, at) + word.slice(at + 1)), undefined, `without letter ${at}`);
    }
    assert.equal(tokenOf(queue, 'id', `${word.slice(0, MARK)}0${word.slice(MARK)}`), undefined);
    // One without letters, of which chance makes one in a thousand, has no other spelling.
    const shouted = word.toUpperCase();
    if (shouted !== word) assert.equal(tokenOf(queue, 'id', shouted), undefined);
    // As the version before wrote it.
    assert.equal(tokenOf(queue, 'id', sealer.seal(queue.id).slice(-MARK) + token.toString(36)), token);
  }
  assert.equal(tokenOf(queue, 'id', deliveryWord(queue, 'id', 0)), undefined);
});
