import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row, Settlement, SqlValue } from '../store.ts';
import { AGAIN } from './gather.ts';
import { acknowledgements, createSettler, settlements } from './settle.ts';

const acknowledgement = (id: number, more: Partial<Settlement> = {}): Settlement => ({
  id,
  token: 5,
  verdict: 'acknowledge',
  due: 90,
  maxDeliveries: 10,
  now: 1,
  ...more,
});

/** A settler, what it asks the server, and what it is answered. */
function asked(...answers: Row[][]) {
  const questions: { text: string; ids: SqlValue | undefined }[] = [];
  const lowered: number[] = [];
  const settle = createSettler(
    async (text, values) => {
      questions.push({ text, ids: values[0] });
      return answers.shift() ?? assert.fail('nobody was to be asked');
    },
    { lower: (destination) => void lowered.push(destination) },
  );
  return { settle, questions, lowered };
}

const settled = (n: number, becomes: number | null): Row => ({
  n,
  becomes,
  dead: false,
  acknowledged: false,
  dest: 7,
  rank: 5,
  ord: 1,
});

test('acknowledgements are one update, in the order of their ids', async () => {
  const { settle, questions } = asked([]);
  assert.deepEqual(await settle([6, 2, 4].map((id) => acknowledgement(id))), ['done', 'done', 'done']);
  assert.deepEqual(questions, [{ text: acknowledgements, ids: [2, 4, 6] }]);
});

test('what an update has acknowledged is never looked at again: others may have changed it since', async () => {
  const { settle, questions } = asked([{ ids: '2,6' }], [settled(1, null), settled(2, 5)]);
  const [left, fresh] = [acknowledgement(4), acknowledgement(8)];
  assert.deepEqual(await settle([acknowledgement(6), left, acknowledgement(2)]), ['done', AGAIN, 'done']);
  assert.deepEqual(await settle([fresh, left]), ['done', 'overtaken']);
  assert.deepEqual(questions.slice(1), [{ text: settlements, ids: [4, 8] }]);
});

test('an update that has acknowledged none leaves them all', async () => {
  const { settle } = asked([{ ids: '' }], [settled(1, 5)]);
  const calls = [acknowledgement(2), acknowledgement(4)];
  assert.deepEqual(await settle(calls), [AGAIN, AGAIN]);
  assert.deepEqual(await settle(calls), ['done', 'gone']);
});

test('other verdicts, and those on volatile messages, are looked at', async () => {
  for (const other of [acknowledgement(3), acknowledgement(4, { verdict: 'return', due: null })]) {
    const { settle, questions, lowered } = asked([settled(1, 5), settled(2, 0)]);
    assert.deepEqual(await settle([acknowledgement(2), other]), ['done', 'done']);
    assert.deepEqual(questions, [{ text: settlements, ids: [2, other.id] }]);
    assert.deepEqual(lowered, [7]);
  }
});
