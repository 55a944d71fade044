import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  FRESHNESS,
  meaningOfConfirmation,
  meaningOfLook,
  meaningOfLookBeforeVote,
  meaningOfVote,
  nextStep,
  noteAfter,
  PATIENCE,
  type ParticipantLog,
  pauseAfter,
  STRAGGLER_MARGIN,
  type TransactionLog,
} from './protocol.ts';

const NOW = 1_000_000;
const transaction = (state: TransactionLog['state'], more: Partial<TransactionLog> = {}): TransactionLog => ({
  state,
  deadline: NOW + 30_000,
  decided: null,
  ...more,
});
const participant = (state: ParticipantLog['state'], more: Partial<ParticipantLog> = {}): ParticipantLog => ({
  id: 1,
  uri: 'http://shop.example/state',
  state,
  tries: 0,
  nextTry: null,
  mayStray: false,
  isLocal: false,
  ...more,
});

describe('what is to be done next', () => {
  it('asks everyone who has not voted', () => {
    const [asked, voted] = [participant('asked'), participant('prepared', { id: 2 })];
    assert.deepEqual(nextStep(transaction('preparing'), [asked, voted], NOW), {
      do: 'order',
      order: 'prepared',
      to: [asked],
    });
  });

  it('commits when all have voted, and not a moment after the timeout', () => {
    const all = [participant('prepared'), participant('read-only', { id: 2 })];
    assert.deepEqual(nextStep(transaction('preparing'), all, NOW), { do: 'decide', decision: 'committing' });
    const late = nextStep(transaction('preparing', { deadline: NOW }), all, NOW);
    assert.equal(late.do === 'decide' && late.decision, 'rolling-back');
  });

  it('rolls back at the first refusal', () => {
    const step = nextStep(transaction('preparing'), [participant('asked'), participant('refused', { id: 2 })], NOW);
    assert.equal(step.do === 'decide' && step.decision, 'rolling-back');
  });

  it('waits for the next try, but in phase one never beyond the timeout', () => {
    const waiting = participant('asked', { nextTry: NOW + 60_000 });
    assert.deepEqual(nextStep(transaction('preparing'), [waiting], NOW), { do: 'wait', until: NOW + 30_000 });
    const later = participant('prepared', { nextTry: NOW + 60_000 });
    assert.deepEqual(nextStep(transaction('committing'), [later], NOW), { do: 'wait', until: NOW + 60_000 });
  });

  it('tells those who are prepared to commit, and nobody else', () => {
    const members = [participant('prepared'), participant('committed', { id: 2 }), participant('read-only', { id: 3 })];
    const step = nextStep(transaction('committing'), members, NOW);
    assert.deepEqual(step.do === 'order' && step.to.map(({ id }) => id), [1]);
  });

  it('tells everyone to roll back who has not refused or dropped out', () => {
    const members = [
      participant('registered'),
      participant('asked', { id: 2 }),
      participant('prepared', { id: 3 }),
      participant('refused', { id: 4 }),
      participant('refused', { id: 5, mayStray: true }),
      participant('read-only', { id: 6 }),
    ];
    const step = nextStep(transaction('rolling-back'), members, NOW);
    assert.deepEqual(step.do === 'order' && step.to.map(({ id }) => id), [1, 2, 3, 5]);
  });

  it('ends as was decided, or says what is odd', () => {
    const outcome = (state: 'committing' | 'rolling-back', ...states: ParticipantLog['state'][]) => {
      const members = states.map((each, id) => participant(each, { id }));
      const step = nextStep(transaction(state), members, NOW);
      return step.do === 'finish' ? step.outcome : step.do;
    };
    assert.equal(outcome('committing', 'committed', 'read-only'), 'committed');
    assert.equal(outcome('rolling-back', 'rolled-back', 'refused'), 'rolled-back');
    assert.equal(outcome('rolling-back'), 'rolled-back');
    assert.equal(outcome('committing', 'committed', 'heuristic-rollback'), 'heuristic-mixed');
    assert.equal(outcome('committing', 'heuristic-rollback'), 'heuristic-rollback');
    assert.equal(outcome('rolling-back', 'heuristic-commit', 'rolled-back'), 'heuristic-mixed');
    assert.equal(outcome('rolling-back', 'heuristic-commit'), 'heuristic-commit');
    assert.equal(outcome('committing', 'hazard', 'committed'), 'heuristic-hazard');
  });
});

describe('what answers mean', () => {
  it('to prepare', () => {
    assert.equal(meaningOfVote({ status: 204 }), 'prepared');
    assert.equal(meaningOfVote({ status: 200, state: 'prepared' }), 'prepared');
    assert.equal(meaningOfVote({ status: 200, state: 'read-only' }), 'read-only');
    assert.equal(meaningOfVote({ status: 200, state: 'rolled-back' }), 'look');
    for (const status of [409, 404, 410]) assert.equal(meaningOfVote({ status }), 'refused');
    assert.equal(meaningOfVote({ status: 412 }), 'look');
    for (const status of [0, 202, 301, 400, 408, 425, 429, 500, 503]) assert.equal(meaningOfVote({ status }), 'again');
    assert.equal(meaningOfLookBeforeVote({ status: 200, state: 'prepared' }), 'prepared');
    assert.equal(meaningOfLookBeforeVote({ status: 200, state: 'rolled-back' }), 'refused');
    assert.equal(meaningOfLookBeforeVote({ status: 200 }), 'again');
    assert.equal(meaningOfLookBeforeVote({ status: 410 }), 'refused');
  });

  it('to an order of phase two', () => {
    for (const order of ['committed', 'rolled-back'] as const) {
      const opposite = order === 'committed' ? 'rolled-back' : 'committed';
      for (const status of [200, 204, 410]) assert.equal(meaningOfConfirmation(order, { status }), order);
      for (const status of [409, 412]) assert.equal(meaningOfConfirmation(order, { status }), 'look');
      for (const status of [0, 202, 400, 500]) assert.equal(meaningOfConfirmation(order, { status }), 'again');
      assert.equal(meaningOfConfirmation(order, { status: 200, state: opposite }), 'look');
      assert.equal(meaningOfLook(order, { status: 200, state: order }), order);
      assert.equal(meaningOfLook(order, { status: 200, state: 'prepared' }), 'again');
      assert.match(meaningOfLook(order, { status: 200, state: opposite }), /^heuristic/);
    }
    assert.equal(meaningOfConfirmation('rolled-back', { status: 404 }), 'rolled-back');
    assert.equal(meaningOfConfirmation('committed', { status: 404 }), 'again');
  });
});

describe('what is noted', () => {
  it('a rollback of one that may still meet a late prepare counts only when none can come any more', () => {
    const log = transaction('rolling-back', { decided: NOW, deadline: NOW + 3_600_000 });
    const quiet = NOW + FRESHNESS + PATIENCE + STRAGGLER_MARGIN;
    const stray = participant('asked', { mayStray: true });
    const early = noteAfter(stray, log, 'rolled-back', 'rolled-back', true, NOW);
    assert.deepEqual([early.state, early.nextTry], ['asked', quiet]);
    assert.equal(noteAfter(stray, log, 'rolled-back', 'rolled-back', true, quiet).state, 'rolled-back');
    const known = participant('prepared');
    assert.equal(noteAfter(known, log, 'rolled-back', 'rolled-back', true, NOW).state, 'rolled-back');
    const local = participant('asked', { mayStray: true, isLocal: true });
    assert.equal(noteAfter(local, log, 'rolled-back', 'rolled-back', true, NOW).state, 'rolled-back');
  });

  it('a prepare that was not answered may stray', () => {
    const note = noteAfter(participant('asked'), transaction('preparing'), 'prepared', 'again', false, NOW);
    assert.deepEqual([note.mayStray, note.tries, note.state], [true, 1, 'asked']);
  });

  it('pauses double to a limit', () => {
    assert.deepEqual(
      [1, 2, 3, 6, 7, 40].map((tries) => pauseAfter('committed', tries)),
      [1000, 2000, 4000, 32_000, 60_000, 60_000],
    );
    assert.ok(pauseAfter('prepared', 40) <= 2000);
  });
});
