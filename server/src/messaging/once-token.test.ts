import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOnceTokens, type OnceToken } from './once-token.ts';

const SECRET = Buffer.alloc(32, 'secret');
const SCOPE = createOnceTokens(SECRET).scope('queue/orders/message');
const token = (n: number, chain = 7): OnceToken => ({ chain, n, messageId: 2 ** 40 + n, expires: 1_800_000_000_000 });

test('a token is read by whoever has the secret, again and again', () => {
  const issuer = createOnceTokens(SECRET);
  const text = issuer.write(token(1), SCOPE);
  for (const reader of [issuer, issuer, createOnceTokens(SECRET), createOnceTokens(SECRET)]) {
    assert.deepEqual(reader.read(text, reader.scope('queue/orders/message')), token(1));
  }
  const others = createOnceTokens(Buffer.alloc(32, 'other'));
  assert.equal(others.read(text, others.scope('queue/orders/message')), undefined);
});

test('a token counts for its own address alone, just issued or not', () => {
  const issuer = createOnceTokens(SECRET);
  const text = issuer.write(token(1), SCOPE);
  assert.equal(issuer.read(text, issuer.scope('queue/others/message')), undefined);
  assert.equal(issuer.read(text, issuer.scope('queue/orders/batch')), undefined);
  assert.deepEqual(issuer.read(text, SCOPE), token(1));
  assert.equal(issuer.read(text, issuer.scope('queue/others/message')), undefined);
});

test('a token of which any character was changed is none', () => {
  const issuer = createOnceTokens(SECRET);
  const text = issuer.write(token(1), SCOPE);
  for (let i = 0; i < text.length; i++) {
    for (const other of ['0', 'z', 'A', '.', '']) {
      const forged = text.slice(0, i) + other + text.slice(i + 1);
      if (forged !== text) assert.equal(issuer.read(forged, SCOPE), undefined, forged);
    }
  }
});

test('tokens are read when so many were issued since that none is remembered, of one chain or of many', () => {
  const issuer = createOnceTokens(SECRET);
  for (const tokenOf of [(n: number) => token(n), (n: number) => token(1, n)]) {
    const texts = Array.from({ length: 10_000 }, (_, n) => issuer.write(tokenOf(n), SCOPE));
    for (const [n, text] of texts.entries()) assert.deepEqual(issuer.read(text, SCOPE), tokenOf(n));
  }
});

test('a scope can be made anew at any time', () => {
  const issuer = createOnceTokens(SECRET);
  const text = issuer.write(token(1), issuer.scope('queue/orders/message'));
  assert.deepEqual(issuer.read(text, issuer.scope('queue/orders/message')), token(1));
  assert.notEqual(issuer.scope('queue/orders/message').key, issuer.scope('topic/orders/message').key);
});
