import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { OutboundError } from '../http/outbound/outbound.ts';
import { Problem } from '../problems.ts';
import { type AnswerContext, outcomeOf, outcomeOfError, type Step } from './outcome.ts';
import { nextTryAt, pauseAfter, readRetryAfter } from './retry.ts';
import { signatureFields } from './signature.ts';
import { readRegistration } from './subscriber.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const URL_CALLED = 'http://target.example/in/once?x=1';

function outcome(step: Step, status: number, headers: Record<string, string> = {}, more: Partial<AnswerContext> = {}) {
  return outcomeOf({ status, headers }, { step, url: URL_CALLED, tried: false, now: NOW, ...more });
}

const NEXT = { link: '<other>; rel="x", <../next/7>; rel="create-next"' };
const next = 'http://target.example/next/7';

test('success is any 2xx', () => {
  for (const status of [200, 201, 202, 204]) {
    assert.deepEqual(outcome('message', status), { kind: 'delivered', next: null });
    assert.deepEqual(outcome('link', status, NEXT), { kind: 'delivered', next });
  }
});

test('asking for a link needs a link in the answer', () => {
  assert.deepEqual(outcome('ask', 200, NEXT), { kind: 'link', next });
  const elsewhere = { link: '<//elsewhere.example/next/8>; rel="create-next"' };
  assert.deepEqual(outcome('ask', 200, elsewhere), { kind: 'link', next: 'http://elsewhere.example/next/8' });
  for (const link of [undefined, '<x>; rel="next"', 'garbage', '<http://[>; rel="create-next"'])
    assert.equal(outcome('ask', 200, link === undefined ? {} : { link }).kind, 'retry', String(link));
});

test('405 on a create-next means delivered, unless it is a plain 405 on a link nobody used', () => {
  assert.deepEqual(outcome('link', 405, NEXT), { kind: 'delivered', next });
  assert.deepEqual(outcome('link', 405, {}, { tried: true }), { kind: 'delivered', next: null });
  assert.equal(outcome('link', 405).kind, 'refuse');
  assert.equal(outcome('message', 405, NEXT).kind, 'refuse');
  assert.equal(outcome('ask', 405, NEXT).kind, 'refuse');
});

test('410 ends a subscription at its href and renews a link', () => {
  assert.equal(outcome('message', 410).kind, 'gone');
  assert.equal(outcome('ask', 410).kind, 'gone');
  assert.deepEqual(outcome('link', 410, NEXT), { kind: 'renew', next, error: 'the target answered 410' });
  assert.equal(outcome('link', 410).kind, 'renew');
});

test('408, 425, 429 and 5xx are retried, every other refusal is final', () => {
  for (const status of [408, 425, 429, 500, 502, 503, 504, 599]) assert.equal(outcome('message', status).kind, 'retry');
  for (const status of [301, 302, 307, 400, 401, 403, 404, 409, 413, 415, 422])
    for (const step of ['message', 'ask', 'link'] as const) assert.equal(outcome(step, status).kind, 'refuse');
});

test('no answer is retried, a message that cannot be sent is not', () => {
  for (const kind of ['timeout', 'network', 'refused-address', 'bad-answer', 'too-large'] as const)
    assert.equal(outcomeOfError(new OutboundError(kind, 'x')).kind, 'retry');
  assert.equal(outcomeOfError(new OutboundError('bad-request', 'x')).kind, 'refuse');
});

test('Retry-After is read as seconds and as a date', () => {
  assert.equal(readRetryAfter('120', NOW), 120_000);
  assert.equal(readRetryAfter('Sun, 01 Mar 2026 12:00:30 GMT', NOW), 30_000);
  assert.equal(readRetryAfter('Sun, 01 Mar 2026 11:00:00 GMT', NOW), 0);
  for (const value of [undefined, '', '-1', '1.5', 'soon']) assert.equal(readRetryAfter(value, NOW), undefined);
  assert.deepEqual(outcome('message', 503, { 'retry-after': '7' }), {
    kind: 'retry',
    error: 'the target answered 503',
    after: 7000,
  });
});

test('pauses double from one second to fifteen minutes, with jitter', () => {
  const pauses = [1, 2, 3, 4, 10, 11, 50].map((tries) => pauseAfter(tries, () => 0));
  assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 512_000, 900_000, 900_000]);
  assert.equal(
    pauseAfter(1, () => 1),
    1200,
  );
});

test('patience ends with a last try and then gives up', () => {
  const patience = 10_000;
  const at = (now: number, wish?: number) => nextTryAt({ tries: 1, since: NOW }, wish, now, patience, () => 0);
  assert.equal(at(NOW), NOW + 1000);
  assert.equal(at(NOW, 5000), NOW + 5000);
  assert.equal(at(NOW, 10), NOW + 1000);
  assert.equal(at(NOW, 86_400_000), NOW + patience);
  assert.equal(at(NOW + 9500), NOW + patience);
  assert.equal(at(NOW + patience), undefined);
});

test('a signature satisfies the official library', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const body = Buffer.from('{"hello":"wörld"}');
  const headers = Object.fromEntries(signatureFields(secret, 'msg_1', Math.floor(Date.now() / 1000), body));
  assert.deepEqual(new Webhook(secret).verify(body.toString(), headers), { hello: 'wörld' });
  assert.throws(() => new Webhook(secret).verify(`${body} `, headers));
  const other = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
  assert.throws(() => new Webhook(other).verify(body.toString(), headers));
});

test('a registration names a known relation, a target and perhaps a secret', () => {
  const href = 'http://target.example/';
  assert.deepEqual(readRegistration({ rel: 'post-batch', href: ` ${href} ` }), {
    rel: 'post-batch',
    href,
    secret: null,
  });
  const wrong = [
    { rel: 'alternate', href },
    { href },
    { rel: 'post-message' },
    { rel: 'post-message', href: 'http://a b/' },
    { rel: 'post-message', href: `http://a/${'x'.repeat(4000)}` },
    { rel: 'post-message', href, secret: 'short' },
    { rel: 'post-message', href, secret: 7 },
  ];
  for (const fields of wrong) {
    assert.throws(
      () => readRegistration(fields),
      (error: unknown) => error instanceof Problem && error.status === 422,
      JSON.stringify(fields),
    );
  }
  assert.throws(() => readRegistration({ rel: 'next', href }), /post-message, post-message-once, post-batch/);
});
