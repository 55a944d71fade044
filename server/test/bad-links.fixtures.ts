/** Requests to link-driven addresses that are wrong: forged tokens and positions, verdicts, batches. */
import type { ProblemCode } from '../src/problems.ts';
import { type BadRequest, sent } from './bad-requests.fixtures.ts';

const FORM = 'application/x-www-form-urlencoded';
const ATOM = 'application/atom+xml';
const MULTIPART = 'multipart/mixed; boundary=b';

const forged: BadRequest[] = [
  'x',
  'a'.repeat(2000),
  '%00',
  '..',
  '%2e%2e%2f',
  'AAAA.BBBB.CCCC',
  '__proto__',
  '0',
].flatMap((token) => [
  sent(
    `a forged create-next ${token.slice(0, 20)}`,
    `POST /queues/good/post-once/${token}`,
    { body: 'x' },
    404,
    'not-found',
  ),
  sent(
    `a look at a forged create-next ${token.slice(0, 20)}`,
    `GET /topics/good/post-once/${token}`,
    {},
    404,
    'not-found',
  ),
  sent(`a forged position ${token.slice(0, 20)}`, `GET /topics/good/next/${token}`, {}, 404, 'not-found'),
  sent(
    `a forged position to resume at ${token.slice(0, 20)}`,
    'GET /topics/good/next/x',
    { headers: { Accept: 'text/event-stream', 'Last-Event-ID': token } },
    404,
    'not-found',
  ),
]);

const others: BadRequest[] = [
  sent('a message to post-message-once itself', 'POST /queues/good/post-once', { body: 'x' }, 400, 'bad-request'),
  sent('a batch to post-batch-once itself', 'POST /topics/good/batch-once', { body: 'x' }, 400, 'bad-request'),
  sent('GET of the poller', 'GET /queues/good/poller', {}, 405, 'method-not-allowed'),
  sent(
    'a forged acknowledgement',
    'POST /queues/good/messages/x/acknowledgement/!',
    { type: FORM, body: 'acknowledge=true' },
    404,
    'not-found',
  ),
  sent('redriving what is no dead-letter queue', 'POST /queues/good/redrive', {}, 409, 'conflict'),
  ...['max=0', 'max=x', 'max=1&max=1'].map((query) =>
    sent(`polling with ${query}`, `POST /queues/good/poller?${query}`, {}, 400, 'bad-query'),
  ),
];

type Wrong = [what: string, type: string | undefined, body: string | Buffer, status: number, code: ProblemCode];

const part = (head: string, body = 'x'): Buffer => Buffer.from(`--b\r\n${head}\r\n\r\n${body}\r\n--b--\r\n`, 'latin1');
const feed = (content: string): string => `<feed xmlns="http://www.w3.org/2005/Atom">${content}</feed>`;
const entry = (content: string): string => feed(`<entry>${content}</entry>`);

const batches: BadRequest[] = (
  [
    ['no type', undefined, 'x', 415, 'unsupported-media-type'],
    ['another type', 'application/json', '[]', 415, 'unsupported-media-type'],
    ['a form', 'multipart/form-data; boundary=b', part('X-A: b'), 415, 'unsupported-media-type'],
    ['no boundary', 'multipart/mixed', part('X-A: b'), 400, 'bad-header'],
    ['an empty boundary', 'multipart/mixed; boundary=', part('X-A: b'), 400, 'bad-header'],
    ['a boundary of 200', `multipart/mixed; boundary=${'b'.repeat(200)}`, part('X-A: b'), 400, 'bad-header'],
    ['another boundary', 'multipart/mixed; boundary=c', part('X-A: b'), 400, 'bad-body'],
    ['nothing', MULTIPART, '', 400, 'bad-body'],
    ['no last boundary', MULTIPART, '--b\r\n\r\nx\r\n--b\r\n', 400, 'bad-body'],
    ['no part', MULTIPART, '--b--\r\n', 422, 'invalid'],
    ['a part without an end of its fields', MULTIPART, '--b\r\nX-A: b\r\n--b--\r\n', 400, 'bad-body'],
    ['a field without a colon', MULTIPART, part('Nonsense'), 400, 'bad-body'],
    ['a field without a name', MULTIPART, part(': b'), 400, 'bad-body'],
    ['a space in a name', MULTIPART, part('X A: b'), 400, 'bad-body'],
    ['a NUL in a field', MULTIPART, part('X-A: b\0'), 400, 'bad-body'],
    ['a control character in a field', MULTIPART, part('X-A: \x01'), 400, 'bad-body'],
    ['a bare CR in a field', MULTIPART, part('X-A: b\rX-B: c'), 400, 'bad-body'],
    ['fields of 20 000 bytes', MULTIPART, part(`X-A: ${'b'.repeat(20_000)}`), 400, 'bad-body'],
    ['two types of a part', MULTIPART, part('Content-Type: a/b\r\nContent-Type: a/b'), 400, 'bad-body'],
    ['a Link of a part', MULTIPART, part('Link: nonsense'), 400, 'bad-body'],
    ['1001 parts', MULTIPART, Buffer.from(`${'--b\r\n\r\nx\r\n'.repeat(1001)}--b--\r\n`), 413, 'too-large'],
    ['half a feed', ATOM, '<feed', 400, 'bad-body'],
    ['another root', ATOM, '<entry xmlns="http://www.w3.org/2005/Atom"/>', 422, 'invalid'],
    ['an empty feed', ATOM, feed(''), 422, 'invalid'],
    ['an entry without content', ATOM, entry('<title>x</title>'), 422, 'invalid'],
    ['content elsewhere', ATOM, entry('<content src="http://a.example/"/>'), 422, 'invalid'],
    ['bad base64', ATOM, entry('<content type="image/png">!!!</content>'), 422, 'invalid'],
    ['a type that is none', ATOM, entry('<content type="nonsense">x</content>'), 422, 'invalid'],
    [
      'a type with a line break',
      ATOM,
      entry('<content type="text/plain;&#13;&#10;X-A: b">x</content>'),
      422,
      'invalid',
    ],
    ['a type beyond Latin', ATOM, entry('<content type="text/日本">x</content>'), 422, 'invalid'],
    ['an entity bomb', ATOM, '<!DOCTYPE feed [<!ENTITY a "a">]><feed>&a;</feed>', 400, 'bad-body'],
    ['1001 entries', ATOM, feed('<entry><content>x</content></entry>'.repeat(1001)), 413, 'too-large'],
  ] satisfies Wrong[]
).map(([what, type, body, status, code]) =>
  sent(`a batch with ${what}`, 'POST /queues/bad/batches', { ...(type && { type }), body }, status, code),
);

export const badLinks: BadRequest[] = [...forged, ...others, ...batches];
