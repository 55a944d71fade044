import assert from 'node:assert/strict';
import { test } from 'node:test';
import { time, uuid } from './kinds.ts';

test('a time is read as RFC 3339 writes it', () => {
  const readable: [text: string, moment: string][] = [
    ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31t12:00:00.5z', '2026-01-31T12:00:00.500Z'],
    ['2026-01-31T12:00:00.123456789Z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31T12:00:00+02:00', '2026-01-31T10:00:00.000Z'],
    ['2026-01-31T12:00:00 02:00', '2026-01-31T10:00:00.000Z'],
    ['2026-01-31T23:30:00-01:00', '2026-02-01T00:30:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ];
  for (const [text, moment] of readable)
    assert.equal(new Date(time.read(text) ?? Number.NaN).toISOString(), moment, text);
  const unreadable = [
    '',
    'now',
    '2026-01-31',
    '2026-01-31T12:00:00',
    '2026-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T12:60:00Z',
    '2026-01-31T12:00:60Z',
    '2026-01-31 12:00:00Z',
    '2026-01-31T12:00:00+24:00',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59-01:00',
    ' 2026-01-31T12:00:00Z',
    '٢026-01-31T12:00:00Z',
  ];
  for (const text of unreadable) assert.equal(time.read(text), undefined, text);
});

test('a UUID is read whatever its case', () => {
  const id = '01a1dd20-3d4c-7440-8d05-b0398131f411';
  assert.equal(uuid.read(id), id);
  assert.equal(uuid.read(id.toUpperCase()), id);
  for (const text of ['', id.slice(1), `${id}0`, id.replaceAll('-', ''), `{${id}}`, `urn:uuid:${id}`]) {
    assert.equal(uuid.read(text), undefined, text);
  }
});
