import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Entered, stepsOf, violations } from './trace.ts';

const trace = (text: string): Entered[] =>
  text.split(' ').map((step) => {
    const [who = '', state = ''] = step.split(':');
    return { who, state };
  });
const participants = ['a', 'b'];
const judged = (text: string): string[] => violations(trace(text), { participants });
const START = 'manager:uncommitted manager:preparing';

describe('the check of a trace', () => {
  it('finds nothing in a commit, a rollback and a refusal', () => {
    assert.deepEqual(
      judged(`${START} a:prepared b:prepared manager:committing b:committed a:committed manager:committed`),
      [],
    );
    assert.deepEqual(
      judged(`${START} a:prepared manager:rolling-back b:rolled-back a:rolled-back manager:rolled-back`),
      [],
    );
    assert.deepEqual(
      judged(`${START} a:refused b:prepared manager:rolling-back b:rolled-back manager:rolled-back`),
      [],
    );
    assert.deepEqual(judged(`${START} a:read-only b:prepared manager:committing b:committed manager:committed`), []);
  });

  it('finds a decision without every vote', () => {
    assert.deepEqual(judged(`${START} a:prepared manager:committing`), ['decided to commit without b']);
  });

  it('finds orders before the decision', () => {
    assert.match(judged(`${START} a:prepared a:committed`).join(), /before the decision/);
    assert.match(judged(`${START} a:prepared a:rolled-back`).join(), /before the decision/);
  });

  it('finds a step that does not exist', () => {
    assert.deepEqual(judged('a:committed')[0], 'a: initial -> committed');
    assert.match(judged(`${START} manager:committed`).join(), /preparing -> committed/);
    assert.match(judged(`${START} manager:rolling-back manager:committing`).join(), /rolling-back -> committing/);
    assert.deepEqual(stepsOf(trace('a:rolled-back a:prepared')), ['a: rolled-back -> prepared']);
    assert.deepEqual(stepsOf(trace('a:rolled-back a:prepared'), new Set(['a'])), []);
  });

  it('finds one that committed beside one that rolled back', () => {
    assert.match(
      judged(`${START} a:prepared b:prepared manager:committing a:committed b:rolled-back`).join(),
      /a committed, but b rolled back/,
    );
  });
});
