import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, keyOf } from './bodies.ts';
import { createLedger, type Ledger, type Look, type Way } from './ledger.ts';
import type { Kind, Place } from './places.ts';

const ACKNOWLEDGED: Look = { status: 200, state: 'acknowledged', whole: true };

const QUEUE: Place = { kind: 'queue', path: 'q' };
const LEASED: Place = { kind: 'leased', path: 'q' };
const TOPIC: Place = { kind: 'topic', path: 'q' };

/** One message posted to q, and answered. */
function posted(key = 'a', way: Way = 'post', kind: Kind = 'queue'): Ledger {
  const ledger = createLedger();
  ledger.sent(way, { kind, path: 'q' }, key);
  ledger.answered(key, `/q/${key}`, true);
  return ledger;
}

test('a message that was answered and received once is in order', () => {
  const ledger = posted();
  ledger.received('q', '/q/a', bodyOf('a'));
  assert.deepEqual(ledger.faults(), []);
  assert.deepEqual(ledger.toLookAt(), []);
});

test('an answered message that nobody has is lost', () => {
  const ledger = posted();
  assert.deepEqual(
    ledger.toLookAt().map((entry) => entry.key),
    ['a'],
  );
  assert.match(ledger.faults().join(), /^a \(post to q\) is lost: nobody has it and nobody looked at \/q\/a$/);
  for (const look of [
    { status: 410, state: undefined, whole: false },
    { status: 200, state: 'available', whole: true },
    { status: 200, state: 'acknowledged', whole: false },
  ]) {
    ledger.looked('a', look);
    ledger.cut('q', 1);
    assert.match(ledger.faults().join(), /is lost/, JSON.stringify(look));
  }
});

test('a receive that was cut off may have taken as many messages as it asked for, and no more', () => {
  const ledger = posted('a');
  ledger.sent('post', QUEUE, 'b');
  ledger.answered('b', '/q/b', true);
  for (const key of ['a', 'b']) ledger.looked(key, ACKNOWLEDGED);
  assert.match(ledger.faults().join(), /^2 messages of q were taken, but the receives cut off could take 0 only$/);
  ledger.cut('other', 5);
  ledger.cut('q', 1);
  assert.equal(ledger.faults().length, 1);
  ledger.cut('q', 1);
  assert.deepEqual(ledger.faults(), []);
  assert.equal(ledger.summary().taken, 2);
});

test('a message that comes twice is a fault, answered or not', () => {
  const ledger = createLedger();
  ledger.sent('post', QUEUE, 'a');
  ledger.received('q', '/q/a', bodyOf('a'));
  assert.deepEqual(ledger.faults(), []);
  assert.equal(ledger.summary().receivedUnanswered, 1);
  ledger.received('q', '/q/a', bodyOf('a'));
  assert.match(ledger.faults().join(), /^a \(post to q\) was received 2 times$/);
});

test('an unanswered post may be nowhere', () => {
  const ledger = createLedger();
  ledger.sent('post', QUEUE, 'a');
  assert.deepEqual(ledger.faults(), []);
  assert.equal(ledger.summary().unanswered, 1);
});

test('a put that is repeated is stored once', () => {
  const ledger = createLedger();
  ledger.sent('put', QUEUE, 'a');
  ledger.sent('put', QUEUE, 'a');
  assert.match(ledger.faults().join(), /^a \(put to q\) had no answer in 2 tries$/);
  ledger.answered('a', '/q/a', false);
  ledger.received('q', '/q/a', bodyOf('a'));
  assert.deepEqual(ledger.faults(), []);
  ledger.answered('a', '/q/a', true);
  assert.deepEqual(ledger.faults(), []);
  ledger.answered('a', '/q/a', true);
  assert.match(ledger.faults().join(), /^a \(put to q\) was stored 2 times in 2 tries$/);
});

test('what was stored at the first try was not stored before', () => {
  for (const way of ['put', 'once', 'batch-once'] as const) {
    const ledger = createLedger();
    ledger.sent(way, QUEUE, 'a');
    ledger.answered('a', '/q/a', false);
    ledger.received('q', '/q/a', bodyOf('a'));
    assert.match(ledger.faults().join(), /was said to be a repetition at the first try$/);
    assert.equal(ledger.summary().onceRepeated, way === 'put' ? 0 : 1);
  }
});

test('a once-only post is answered in the end, and is stored once', () => {
  const ledger = createLedger();
  ledger.sent('once', QUEUE, 'a');
  assert.match(ledger.faults().join(), /^a \(once to q\) had no answer in 1 tries$/);
  ledger.sent('once', QUEUE, 'a');
  ledger.answered('a', '/q/a', false);
  assert.match(ledger.faults().join(), /^a \(once to q\) is lost/);
  ledger.received('q', '/q/a', bodyOf('a'));
  assert.deepEqual(ledger.faults(), []);
  ledger.received('q', '/q/b', bodyOf('a'));
  assert.match(ledger.faults().join(), /was received 2 times/);
});

test('a post is never repeated by the test itself', () => {
  const ledger = posted();
  ledger.sent('post', QUEUE, 'a');
  assert.match(ledger.faults().join(), /the test sent a twice/);
});

test('a message of a topic stays readable', () => {
  const ledger = posted('a', 'post', 'topic');
  assert.match(ledger.faults().join(), /is lost/);
  ledger.looked('a', { status: 410, state: undefined, whole: false });
  assert.match(ledger.faults().join(), /a \(post to q\) is lost: \/q\/a says 410/);
  ledger.looked('a', { status: 200, state: 'available', whole: true });
  assert.deepEqual(ledger.faults(), []);
});

test('what nobody sent, what is torn, and what comes from elsewhere is noticed', () => {
  const cases: [string, string, RegExp][] = [
    ['q', bodyOf('b'), /what nobody sent: b/],
    ['q', `${bodyOf('a')}x`, /what nobody sent: a/],
    ['other', bodyOf('a'), /a, sent to q, was received from other/],
  ];
  for (const [destination, body, fault] of cases) {
    const ledger = posted();
    ledger.looked('a', ACKNOWLEDGED);
    ledger.received(destination, '/q/a', body);
    assert.match(ledger.faults().join(), fault);
  }
});

test('two messages never share an address, and one never has two', () => {
  const shared = posted();
  shared.sent('post', QUEUE, 'b');
  shared.received('q', '/q/a', bodyOf('b'));
  assert.match(shared.faults().join(), /\/q\/a stands for a and for b/);
  const moved = posted('a', 'put');
  moved.received('q', '/q/a', bodyOf('a'));
  moved.answered('a', '/q/z', false);
  assert.match(moved.faults().join(), /a is at \/q\/a and at \/q\/z/);
});

test('what the load finds wrong by itself is a fault', () => {
  const ledger = createLedger();
  ledger.wrong('a post was answered 500');
  assert.deepEqual(ledger.faults(), ['a post was answered 500']);
});

test('a body tells its key when it is whole', () => {
  for (let n = 0; n < 500; n++) assert.equal(keyOf(bodyOf(`key-${n}`)), `key-${n}`);
  assert.ok(new Set(Array.from({ length: 500 }, (_, n) => bodyOf(`key-${n}`).length - `key-${n}`.length)).size >= 4);
  assert.equal(keyOf(''), undefined);
  assert.equal(keyOf(bodyOf('key-1').slice(0, -1)), undefined);
});

test('a leased message is in order once it is acknowledged, after any number of deliveries', () => {
  const ledger = posted('a', 'once', 'leased');
  assert.match(ledger.faults().join(), /^a \(once to q\) is lost after 0 deliveries/);
  assert.equal(ledger.delivered('q', '/q/a', bodyOf('a'), 1), 'a');
  ledger.delivered('q', '/q/a', bodyOf('a'), 3);
  assert.match(ledger.faults().join(), /is lost after 2 deliveries/);
  ledger.acknowledged('a', 3);
  assert.deepEqual(ledger.faults(), []);
  assert.deepEqual(ledger.toLookAt(), []);
  const { acknowledged, redelivered } = ledger.summary();
  assert.deepEqual({ acknowledged, redelivered }, { acknowledged: 1, redelivered: 1 });
});

test('an acknowledged message never comes back', () => {
  const ledger = posted('a', 'post', 'leased');
  ledger.delivered('q', '/q/a', bodyOf('a'), 2);
  ledger.acknowledged('a', 2);
  // An older delivery whose answer was late.
  ledger.delivered('q', '/q/a', bodyOf('a'), 1);
  assert.deepEqual(ledger.faults(), []);
  ledger.delivered('q', '/q/a', bodyOf('a'), 3);
  assert.match(
    ledger.faults().join(),
    /^a \(post to q\) was acknowledged at delivery 2 and came back with delivery 3$/,
  );
});

test('no two deliveries of a message have the same number', () => {
  const ledger = posted('a', 'post', 'leased');
  for (const count of [2, 1, 2]) ledger.delivered('q', '/q/a', bodyOf('a'), count);
  ledger.acknowledged('a', 2);
  assert.match(ledger.faults().join(), /^a \(post to q\) has two deliveries with the number 2$/);
});

test('a leased message that nobody posted successfully is not lost either', () => {
  const ledger = createLedger();
  ledger.sent('post', LEASED, 'a');
  assert.deepEqual(ledger.faults(), []);
  ledger.delivered('q', '/q/a', bodyOf('a'), 1);
  assert.match(ledger.faults().join(), /is lost after 1 deliveries/);
});

test('an acknowledgement without an answer counts when the message says so', () => {
  const ledger = posted('a', 'post', 'leased');
  ledger.delivered('q', '/q/a', bodyOf('a'), 1);
  ledger.unsure('a');
  assert.equal(ledger.toLookAt().length, 1);
  assert.match(ledger.faults().join(), /is lost/);
  ledger.looked('a', { ...ACKNOWLEDGED, state: 'available' });
  assert.match(ledger.faults().join(), /is lost after 1 deliveries: \/q\/a says 200 available/);
  ledger.looked('a', ACKNOWLEDGED);
  assert.deepEqual(ledger.faults(), []);
  assert.equal(ledger.summary().unsure, 1);
});

test('such a message whose post had no answer either is looked at where it was handed out', () => {
  const ledger = createLedger();
  ledger.sent('post', LEASED, 'a');
  assert.deepEqual(ledger.toLookAt(), []);
  ledger.delivered('q', '/q/a', bodyOf('a'), 1);
  ledger.unsure('a');
  assert.deepEqual(ledger.toLookAt(), [{ key: 'a', address: '/q/a' }]);
  assert.match(ledger.faults().join(), /is lost after 1 deliveries: nobody has it and nobody looked at \/q\/a$/);
  ledger.looked('a', ACKNOWLEDGED);
  assert.deepEqual(ledger.faults(), []);
});

test('a leased message that says it is acknowledged, though nobody did that, is lost', () => {
  const ledger = posted('a', 'post', 'leased');
  ledger.looked('a', ACKNOWLEDGED);
  assert.match(ledger.faults().join(), /is lost after 0 deliveries: \/q\/a says 200 acknowledged/);
});

test('a dead message is dead once, and was not acknowledged', () => {
  const dead = posted('a', 'post', 'leased');
  dead.received('q.dead', '/q.dead/x', bodyOf('a'));
  assert.deepEqual(dead.faults(), []);
  assert.equal(dead.summary().buried, 1);
  dead.received('q.dead', '/q.dead/y', bodyOf('a'));
  assert.match(dead.faults().join(), /^a \(post to q\) is dead 2 times$/);

  const done = posted('a', 'post', 'leased');
  done.delivered('q', '/q/a', bodyOf('a'), 1);
  done.acknowledged('a', 1);
  done.received('q.dead', '/q.dead/x', bodyOf('a'));
  assert.match(done.faults().join(), /^a \(post to q\) was acknowledged and is dead$/);

  const elsewhere = posted('a', 'post', 'leased');
  elsewhere.received('other.dead', '/other.dead/x', bodyOf('a'));
  assert.match(elsewhere.faults().join(), /a, sent to q, was received from other.dead/);
});

test('a batch is stored whole or not at all', () => {
  const ledger = createLedger();
  for (const key of ['a', 'b']) ledger.sent('batch', LEASED, key, 'a');
  assert.deepEqual(ledger.faults(), []);
  ledger.delivered('q', '/q/a', bodyOf('a'), 1);
  ledger.acknowledged('a', 1);
  assert.deepEqual(ledger.faults(), ['1 of 2 of a were stored']);
  ledger.received('q.dead', '/q.dead/b', bodyOf('b'));
  assert.deepEqual(ledger.faults(), []);
});

/** Messages posted to the topic q, of which `answered` had an answer; all of them are there. */
function topicOf(keys: readonly string[], answered: readonly string[] = keys): Ledger {
  const ledger = createLedger();
  for (const key of keys) {
    ledger.sent('post', TOPIC, key);
    if (!answered.includes(key)) continue;
    ledger.answered(key, `/q/${key}`, true);
    ledger.looked(key, { status: 200, state: 'available', whole: true });
  }
  return ledger;
}

function reads(ledger: Ledger, reader: string, keys: readonly string[]): void {
  ledger.begins(reader, 'q', true);
  for (const key of keys) ledger.read(reader, 'q', `/q/${key}`, bodyOf(key));
}

test('a reader meets every answered message once, in the order of its poster', () => {
  const cases: [string[], RegExp | undefined][] = [
    [['p-1', 'o-1', 'p-2', 'p-10'], undefined],
    [['o-1', 'p-1', 'p-10'], /^r of q skipped p-2$/],
    [['p-1', 'o-1', 'p-2', 'p-10', 'o-1'], /^r of q met o-1 again$/],
    [['p-2', 'p-1', 'o-1', 'p-10'], /^r of q met p-1 after number 2$/],
  ];
  for (const [keys, fault] of cases) {
    const ledger = topicOf(['p-1', 'p-2', 'o-1', 'p-10']);
    reads(ledger, 'r', keys);
    if (fault === undefined) assert.deepEqual(ledger.faults(), []);
    else assert.match(ledger.faults().join(), fault);
    assert.equal(ledger.summary().read, keys.length);
  }
});

test('an unanswered message of a topic may be anywhere or nowhere, but at the same place for everyone', () => {
  const ledger = topicOf(['p-1', 'p-2', 'p-3'], ['p-2', 'p-3']);
  reads(ledger, 'r', ['p-2', 'p-3']);
  assert.deepEqual(ledger.faults(), []);
  reads(ledger, 'r', ['p-2', 'p-3', 'p-1']);
  reads(ledger, 's', ['p-2', 'p-3', 'p-1']);
  assert.deepEqual(ledger.faults(), []);
  reads(ledger, 's', ['p-2', 'p-1', 'p-3']);
  assert.deepEqual(ledger.faults(), ['s of q met p-1 where r met p-3']);
  reads(ledger, 's', ['p-2', 'p-3']);
  assert.deepEqual(ledger.faults(), ['s of q met p-2 where r met p-3']);
});

test('a reader that came later meets what is sent from then on', () => {
  const ledger = topicOf(['p-1', 'p-2']);
  reads(ledger, 'r', ['p-1', 'p-2']);
  ledger.begins('late', 'q', false);
  assert.deepEqual(ledger.faults(), []);
  ledger.sent('once', TOPIC, 'o-1');
  ledger.answered('o-1', '/q/o-1', true);
  ledger.looked('o-1', { status: 200, state: 'available', whole: true });
  ledger.read('r', 'q', '/q/o-1', bodyOf('o-1'));
  assert.deepEqual(ledger.faults(), ['late of q skipped o-1']);
  ledger.read('late', 'q', '/q/o-1', bodyOf('o-1'));
  assert.deepEqual(ledger.faults(), []);
});
