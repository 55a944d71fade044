import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSealer, MARK, newToken } from './ids.ts';

const sealer = createSealer(Buffer.alloc(32, 7));

test('a sealed number is opened again, and a word that was cut or has a strange letter is not', () => {
  for (const id of [0, 1, 2, 31, 32, 2 ** 26, 2 ** 40 + 3, 2 ** 52 - 1]) {
    const word = sealer.seal(id);
    assert.equal(sealer.open(word), id);
    assert.equal(sealer.open(word.slice(1)), undefined);
    for (const strange of ['u', 'A', '-', '\u00e4', '\u2028']) {
      assert.equal(sealer.open(`${word.slice(0, -1)}${strange}`), undefined);
    }
  }
});

test('a mark is always the same, and another for another text, number or service', () => {
  const text = '17/message';
  const number = 2 ** 47 + 12_345;
  const mark = sealer.mark(text, number);
  assert.match(mark, new RegExp(`^[0-9a-z]{${MARK}}$`));
  assert.equal(createSealer(Buffer.alloc(32, 7)).mark(text, number), mark);
  assert.notEqual(createSealer(Buffer.alloc(32, 8)).mark(text, number), mark);
  for (let bit = 0; bit < 48; bit++) {
    const other = Math.floor(number / 2 ** bit) % 2 === 1 ? number - 2 ** bit : number + 2 ** bit;
    assert.notEqual(sealer.mark(text, other), mark, `bit ${bit}`);
  }
  for (let at = 0; at < text.length; at++) {
    assert.notEqual(sealer.mark(`${text.slice(0, at)}~${text.slice(at + 1)}`, number), mark, `letter ${at}`);
  }
});

test('marks of a hundred thousand tokens hardly ever meet', () => {
  const marks = new Set(Array.from({ length: 100_000 }, () => sealer.mark('17/message', newToken())));
  // Of so many random ones among 2^30 about five pairs are the same.
  assert.ok(marks.size > 99_950, `${marks.size} are different`);
});
