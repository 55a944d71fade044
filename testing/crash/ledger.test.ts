import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, keyOf } from './bodies.ts';
import { createLedger, type Ledger, type Look } from './ledger.ts';

const ACKNOWLEDGED: Look = { status: 200, state: 'acknowledged', whole: true };

/** One message posted to the queue q, and answered. */
function posted(key = 'a', way: 'post' | 'put' | 'topic' = 'post'): Ledger {
  const ledger = createLedger();
  ledger.sent(way, 'q', key);
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
  assert.match(ledger.faults().join(), /^a \(post to q\) is lost: nobody received it and nobody looked at \/q\/a$/);
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
  ledger.sent('post', 'q', 'b');
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
  ledger.sent('post', 'q', 'a');
  ledger.received('q', '/q/a', bodyOf('a'));
  assert.deepEqual(ledger.faults(), []);
  assert.equal(ledger.summary().receivedUnanswered, 1);
  ledger.received('q', '/q/a', bodyOf('a'));
  assert.match(ledger.faults().join(), /^a \(post to q\) was received 2 times$/);
});

test('an unanswered post may be nowhere', () => {
  const ledger = createLedger();
  ledger.sent('post', 'q', 'a');
  assert.deepEqual(ledger.faults(), []);
  assert.equal(ledger.summary().unanswered, 1);
});

test('a put that is repeated is stored once', () => {
  const ledger = createLedger();
  ledger.sent('put', 'q', 'a');
  ledger.sent('put', 'q', 'a');
  assert.match(ledger.faults().join(), /^a \(put to q\) had no answer in 2 tries$/);
  ledger.answered('a', '/q/a', false);
  ledger.received('q', '/q/a', bodyOf('a'));
  assert.deepEqual(ledger.faults(), []);
  ledger.answered('a', '/q/a', true);
  assert.deepEqual(ledger.faults(), []);
  ledger.answered('a', '/q/a', true);
  assert.match(ledger.faults().join(), /^a \(put to q\) was stored 2 times in 2 tries$/);
});

test('a post is never repeated by the test itself', () => {
  const ledger = posted();
  ledger.sent('post', 'q', 'a');
  assert.match(ledger.faults().join(), /the test sent a twice/);
});

test('a message of a topic stays readable', () => {
  const ledger = posted('a', 'topic');
  assert.match(ledger.faults().join(), /is lost/);
  ledger.looked('a', { status: 410, state: undefined, whole: false });
  assert.match(ledger.faults().join(), /a \(topic to q\) is lost: \/q\/a says 410/);
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
  shared.sent('post', 'q', 'b');
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
