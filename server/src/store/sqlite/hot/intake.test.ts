import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { Claim } from '../../store.ts';
import { callWords, claims, packCall, settlements } from './call-kinds.ts';
import { openTables, store } from './hot.fixtures.ts';
import type { HotJob } from './hot-group.ts';
import { createIntake } from './intake.ts';
import { createLineReader, createLineWriter } from './line.ts';
import { createOutcomeWriter } from './outcomes.ts';
import { createRingMemory } from './ring.ts';
import { CLAIM } from './wire.ts';

/** Both ends of the lines, with the intake between them. */
function open() {
  const db = openTables();
  const { port1, port2 } = new MessageChannel();
  const memory = { calls: createRingMemory(1024 * 1024), outcomes: createRingMemory(1024 * 1024) };
  const calls = createLineWriter(memory.calls, port1, false);
  const outcomes = createLineReader(memory.outcomes, port1);
  const answers = createLineWriter(memory.outcomes, port2, true);
  const intake = createIntake(db, createLineReader(memory.calls, port2), answers, createOutcomeWriter(answers));
  const claim = (number: number, more: Partial<Claim> = {}): void => {
    const question = {
      destination: 1,
      max: 1,
      maxBytes: 1e9,
      mode: 'lease',
      due: 9,
      token: number,
      now: 1,
      ...more,
    } as const;
    const call = { number, kind: claims, question };
    calls.write(callWords(call), packCall, call);
    calls.publish();
  };
  /** Runs a group; tells how many jobs it had. */
  const serve = (): number => {
    const jobs: readonly HotJob[] = intake.take();
    for (const job of jobs) job.outcome = job.run();
    intake.answer();
    answers.publish();
    return jobs.length;
  };
  /** The calls that have their outcomes, which are taken by that. */
  const answered = (): number[] => {
    const numbers: number[] = [];
    for (let from = outcomes.next(); from !== undefined; from = outcomes.next()) {
      assert.equal(from.number(), CLAIM);
      numbers.push(from.number());
    }
    outcomes.release();
    return numbers;
  };
  return { db, intake, calls, claim, serve, answered, close: () => port1.close() };
}

test('claims wait while large messages are on their way, and go on when these are taken', () => {
  const { db, claim, serve, answered, close } = open();
  const body = new Uint8Array(16 * 1024 * 1024);
  for (let id = 2; id <= 12; id += 2) store(db, { id, body });
  for (let number = 0; number < 6; number++) claim(number);
  // The first three pass 32 MiB together; then nobody claims until they are taken.
  assert.equal(serve(), 1);
  assert.equal(serve(), 0);
  assert.deepEqual(answered(), [0, 1, 2]);
  assert.equal(serve(), 1);
  assert.equal(serve(), 0);
  assert.deepEqual(answered(), [3, 4, 5]);
  close();
});

test('claims of large messages that have to run again are not put off for what they found the first time', () => {
  const { db, intake, claim, close } = open();
  const body = new Uint8Array(40 * 1024 * 1024);
  for (const dest of [1, 2]) {
    store(db, { id: 2 * dest, dest, body });
    claim(dest, { destination: dest });
  }
  const jobs = intake.take();
  for (const _ of ['together', 'again, after a rollback']) {
    db.exec('BEGIN');
    for (const job of jobs) job.outcome = job.run();
    assert.deepEqual(
      jobs.map(({ outcome }) => (outcome as unknown[]).map((found) => found !== undefined)),
      [[true], [false]],
    );
    db.exec('ROLLBACK');
  }
  close();
});

test('claims that were put off come before those that no group has taken yet', () => {
  const { db, claim, serve, answered, close } = open();
  const body = new Uint8Array(40 * 1024 * 1024);
  for (const dest of [1, 2]) store(db, { id: 2 * dest, dest, body });
  claim(0, { destination: 1 });
  claim(1, { destination: 2 });
  claim(2, { destination: 3, max: 512 });
  for (const number of [0, 1, 2]) {
    serve();
    assert.deepEqual(answered(), [number]);
  }
  close();
});

test('claims that want many messages are shared among groups, each in its order', () => {
  const { db, claim, serve, answered, close } = open();
  for (let id = 2; id <= 20; id += 2) store(db, { id });
  claim(0, { max: 500 });
  claim(1, { max: 500 });
  claim(2, { max: 1 });
  assert.equal(serve(), 1);
  assert.deepEqual(answered(), [0]);
  assert.equal(serve(), 1);
  assert.deepEqual(answered(), [1, 2]);
  close();
});

test('a verdict that returns a message runs before the claims that came earlier', () => {
  const { db, calls, claim, serve, close } = open();
  store(db, { id: 2 });
  claim(0);
  serve();
  claim(1);
  const question = { id: 2, token: 0, verdict: 'return', due: null, maxDeliveries: 5, now: 1 } as const;
  const call = { number: 2, kind: settlements, question };
  calls.write(callWords(call), packCall, call);
  calls.publish();
  assert.equal(serve(), 2);
  assert.deepEqual(
    { ...db.prepare('SELECT state, token, tries FROM delivery').get() },
    { state: 1, token: 1, tries: 2 },
  );
  close();
});
