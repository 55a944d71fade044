/** Requests that are wrong as HTTP: request lines, header fields, framing. */
import { type BadRequest, bytesOf, raw, sent } from './bad-requests.fixtures.ts';

const HOST = 'Host: 127.0.0.1';
const POST = 'POST /queues/bad HTTP/1.1';

const requestLines: BadRequest[] = [
  raw('HTTP/0.9', ['GET /', '', ''], 400, 'bad-request'),
  raw('no target', ['GET HTTP/1.1', HOST, '', ''], 400, 'bad-request'),
  raw('a version that is none', ['GET / HTTP/one', HOST, '', ''], 400, 'bad-request'),
  raw('HTTP/2.0 as text', ['GET / HTTP/2.0', HOST, '', ''], 505, 'version-unknown'),
  raw('HTTP/3.0 as text', ['GET / HTTP/3.0', HOST, '', ''], 505, 'version-unknown'),
  raw('the HTTP/2 preface', ['PRI * HTTP/2.0', '', 'SM', '', ''], 505, 'version-unknown'),
  raw('a lower-case method', ['get / HTTP/1.1', HOST, '', ''], 501, 'method-unknown'),
  raw('an unknown method', ['BREW / HTTP/1.1', HOST, '', ''], 501, 'method-unknown'),
  raw('a method of 5000 letters', [`${'A'.repeat(5000)} / HTTP/1.1`, HOST, '', ''], 501, 'method-unknown'),
  raw('no HTTP at all', ['what is this', '', ''], 400, 'bad-request'),
  raw('CONNECT', ['CONNECT example.org:443 HTTP/1.1', HOST, '', ''], 501, 'method-unknown'),
  raw('a TLS greeting', ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', '', ''], 400, 'bad-request'),
  raw('a space in the target', ['GET /queues/a b HTTP/1.1', HOST, '', ''], 400, 'bad-request'),
  raw('a control character in the target', ['GET /queues/a\x01b HTTP/1.1', HOST, '', ''], 400, 'bad-request'),
  raw('a NUL in the target', ['GET /queues/a\0b HTTP/1.1', HOST, '', ''], 400, 'bad-request'),
  raw('a target that is no path', ['GET queues HTTP/1.1', HOST, '', ''], 400, 'bad-request'),
  raw('an absolute target without a host', ['GET http:///queues/none HTTP/1.1', HOST, '', ''], 400, 'bad-request'),
  raw(
    'an absolute target of another scheme',
    ['GET ftp://127.0.0.1/queues HTTP/1.1', HOST, '', ''],
    400,
    'bad-request',
  ),
  raw('a fragment in the target', ['GET /queues#top HTTP/1.1', HOST, '', ''], 400, 'bad-request'),
  raw('GET of the star', ['GET * HTTP/1.1', HOST, '', ''], 400, 'bad-request'),
  raw(
    'an absolute target of an unknown queue',
    ['GET http://a.example/queues/none HTTP/1.1', HOST, '', ''],
    404,
    'unknown-destination',
  ),
  raw('a target of 9000 characters', [`GET /queues/${'a'.repeat(9000)} HTTP/1.1`, HOST, '', ''], 414, 'uri-too-long'),
  raw(
    'a target beyond the header limit',
    [`GET /queues/${'a'.repeat(20_000)} HTTP/1.1`, HOST, '', ''],
    431,
    'headers-too-large',
  ),
];

const hosts: BadRequest[] = [
  raw('no Host', ['GET / HTTP/1.1', '', ''], 400, 'bad-request'),
  raw('no Host beside an absolute target', ['GET http://a.example/ HTTP/1.1', '', ''], 400, 'bad-request'),
  raw(
    'a bad Host beside an absolute target',
    ['GET http://a.example/ HTTP/1.1', 'Host: a b', '', ''],
    400,
    'bad-request',
  ),
  raw('an empty Host', ['GET / HTTP/1.1', 'Host:', '', ''], 400, 'bad-request'),
  raw('two Hosts', ['GET / HTTP/1.1', 'Host: one.example', 'Host: two.example', '', ''], 400, 'bad-request'),
  raw('the same Host twice', ['GET / HTTP/1.1', HOST, HOST, '', ''], 400, 'bad-request'),
  raw('a Host with a space', ['GET / HTTP/1.1', 'Host: a b', '', ''], 400, 'bad-request'),
  raw('a Host with a path', ['GET / HTTP/1.1', 'Host: a.example/queues', '', ''], 400, 'bad-request'),
  raw('a Host with a user', ['GET / HTTP/1.1', 'Host: me@a.example', '', ''], 400, 'bad-request'),
  raw('a Host with a port that is none', ['GET / HTTP/1.1', 'Host: a.example:http', '', ''], 400, 'bad-request'),
  raw('a Host with a port beyond 65535', ['GET / HTTP/1.1', 'Host: a.example:99999', '', ''], 400, 'bad-request'),
  raw('a Host with quotes and angles', ['GET / HTTP/1.1', 'Host: "><script>', '', ''], 400, 'bad-request'),
  raw('a list of Hosts', ['GET / HTTP/1.1', 'Host: a.example, b.example', '', ''], 400, 'bad-request'),
];

const fields: BadRequest[] = [
  raw('a field without a colon', [POST, HOST, 'Nonsense', '', ''], 400, 'bad-request'),
  raw('a field without a name', [POST, HOST, ': value', '', ''], 400, 'bad-request'),
  raw('a space before the colon', [POST, HOST, 'Content-Type : text/plain', '', ''], 400, 'bad-request'),
  raw('a space before the first field', [POST, ' Host: 127.0.0.1', '', ''], 400, 'bad-request'),
  raw('brackets in a field name', [POST, HOST, 'X(y): z', '', ''], 400, 'bad-request'),
  raw('a letter beyond ASCII in a field name', [POST, HOST, 'X\xe9: z', '', ''], 400, 'bad-request'),
  raw('a NUL in a field', [POST, HOST, 'X-A: b\0c', '', ''], 400, 'bad-request'),
  raw('a control character in a field', [POST, HOST, 'X-A: b\x01c', '', ''], 400, 'bad-request'),
  raw('DEL in a field', [POST, HOST, 'X-A: b\x7fc', '', ''], 400, 'bad-request'),
  raw('a bare CR in a field', [POST, HOST, 'X-A: b\rc', '', ''], 400, 'bad-request'),
  raw('lines that end with LF only', ['POST /queues/bad HTTP/1.1\nHost: 127.0.0.1\n\n'], 400, 'bad-request'),
  raw('a folded field', [POST, HOST, 'X-A: b', ' c', '', ''], 400, 'bad-request'),
  raw('a folded field by a tab', [POST, HOST, 'X-A: b', '\tc', '', ''], 400, 'bad-request'),
  raw('a field of 20 000 bytes', [POST, HOST, `X-A: ${'b'.repeat(20_000)}`, '', ''], 431, 'headers-too-large'),
  raw('a field name of 20 000 bytes', [POST, HOST, `${'X'.repeat(20_000)}: b`, '', ''], 431, 'headers-too-large'),
  raw('3000 fields', [POST, HOST, ...Array<string>(3000).fill('a:'), '', ''], 431, 'headers-too-large'),
  raw('20 000 fields', [POST, HOST, ...Array<string>(20_000).fill('X-Field: value'), '', ''], 431, 'headers-too-large'),
  raw(
    'an expectation nobody knows',
    [POST, HOST, 'Expect: a-miracle', 'Content-Length: 0', '', ''],
    417,
    'expectation-failed',
  ),
  raw(
    'two Content-Types',
    [POST, HOST, 'Content-Type: text/plain', 'Content-Type: text/html', 'Content-Length: 0', '', ''],
    400,
    'bad-header',
  ),
];

const framing: BadRequest[] = [
  raw('two different lengths', [POST, HOST, 'Content-Length: 1', 'Content-Length: 2', '', 'ab'], 400, 'bad-request'),
  raw('a list of lengths', [POST, HOST, 'Content-Length: 1, 2', '', 'ab'], 400, 'bad-request'),
  raw('a length that is no number', [POST, HOST, 'Content-Length: many', '', ''], 400, 'bad-request'),
  raw('an empty length', [POST, HOST, 'Content-Length:', '', ''], 400, 'bad-request'),
  raw('a negative length', [POST, HOST, 'Content-Length: -1', '', ''], 400, 'bad-request'),
  raw('a length with a plus', [POST, HOST, 'Content-Length: +1', '', 'a'], 400, 'bad-request'),
  raw('a hexadecimal length', [POST, HOST, 'Content-Length: 0x1', '', 'a'], 400, 'bad-request'),
  raw('a length with garbage after it', [POST, HOST, 'Content-Length: 1abc', '', 'a'], 400, 'bad-request'),
  raw('a length beyond 64 bits', [POST, HOST, 'Content-Length: 99999999999999999999', '', ''], 400, 'bad-request'),
  raw(
    'length and chunks',
    [POST, HOST, 'Content-Length: 5', 'Transfer-Encoding: chunked', '', '0', '', ''],
    400,
    'bad-request',
  ),
  raw(
    'chunks and length',
    [POST, HOST, 'Transfer-Encoding: chunked', 'Content-Length: 5', '', '0', '', ''],
    400,
    'bad-request',
  ),
  raw('an encoding nobody knows', [POST, HOST, 'Transfer-Encoding: gzip', '', ''], 400, 'bad-request'),
  raw('chunked, but not last', [POST, HOST, 'Transfer-Encoding: chunked, gzip', '', '0', '', ''], 400, 'bad-request'),
  raw(
    'compressed, then chunked',
    [POST, HOST, 'Transfer-Encoding: gzip, chunked', '', '0', '', ''],
    400,
    'bad-request',
  ),
  raw(
    'compressed, then chunked, in two fields',
    [POST, HOST, 'Transfer-Encoding: gzip', 'Transfer-Encoding: chunked', '', '0', '', ''],
    400,
    'bad-request',
  ),
  raw('chunked twice', [POST, HOST, 'Transfer-Encoding: chunked, chunked', '', '0', '', ''], 400, 'bad-request'),
  raw('nearly chunked', [POST, HOST, 'Transfer-Encoding: xchunked', '', '0', '', ''], 400, 'bad-request'),
  raw(
    'chunks in HTTP/1.0',
    ['POST /queues/bad HTTP/1.0', HOST, 'Transfer-Encoding: chunked', '', '0', '', ''],
    400,
    'bad-request',
  ),
  raw(
    'a chunk size that is no number',
    [POST, HOST, 'Transfer-Encoding: chunked', '', 'zz', 'a', '0', '', ''],
    400,
    'bad-request',
  ),
  raw('an empty chunk size', [POST, HOST, 'Transfer-Encoding: chunked', '', '', 'a', '0', '', ''], 400, 'bad-request'),
  raw(
    'a negative chunk size',
    [POST, HOST, 'Transfer-Encoding: chunked', '', '-1', 'a', '0', '', ''],
    400,
    'bad-request',
  ),
  raw(
    'a chunk size with 0x',
    [POST, HOST, 'Transfer-Encoding: chunked', '', '0x1', 'a', '0', '', ''],
    400,
    'bad-request',
  ),
  raw(
    'a chunk size beyond 64 bits',
    [POST, HOST, 'Transfer-Encoding: chunked', '', 'fffffffffffffffff', 'a', ''],
    400,
    'bad-request',
  ),
  raw(
    'a chunk longer than its size',
    [POST, HOST, 'Transfer-Encoding: chunked', '', '1', 'abc', '0', '', ''],
    400,
    'bad-request',
  ),
  raw(
    'a chunk size that ends with LF',
    [POST, HOST, 'Transfer-Encoding: chunked', '', '1\na', '0', '', ''],
    400,
    'bad-request',
  ),
  raw(
    'chunk extensions without end',
    [POST, HOST, 'Transfer-Encoding: chunked', '', `1;${'x'.repeat(40_000)}`, 'a', '0', '', ''],
    413,
    'too-large',
  ),
  raw(
    'a trailer without a colon',
    [POST, HOST, 'Transfer-Encoding: chunked', '', '0', 'Nonsense', '', ''],
    400,
    'bad-request',
  ),
  raw(
    'a trailer that gives a length',
    [POST, HOST, 'Transfer-Encoding: chunked', '', '1', 'a', '0', 'Content-Length: 5', '', ''],
    400,
    'bad-request',
  ),
  raw(
    'a blank behind a chunk size',
    [POST, HOST, 'Transfer-Encoding: chunked', '', '1 ', 'a', '0', '', ''],
    400,
    'bad-request',
  ),
  raw(
    'a chunk extension that is none',
    [POST, HOST, 'Transfer-Encoding: chunked', '', '1;a b', 'a', '0', '', ''],
    400,
    'bad-request',
  ),
  raw('a body larger than the limit', [POST, HOST, 'Content-Length: 1048577', '', ''], 413, 'too-large'),
  raw('a body larger than any memory', [POST, HOST, 'Content-Length: 9007199254740991', '', ''], 413, 'too-large'),
  raw(
    'an announced body larger than the limit',
    [POST, HOST, 'Expect: 100-continue', 'Content-Length: 1048577', '', ''],
    413,
    'too-large',
  ),
  sent(
    'a body larger than the limit, all of it',
    'POST /queues/bad',
    { body: Buffer.alloc(8 * 1048576) },
    413,
    'too-large',
  ),
  {
    what: 'a streamed body larger than the limit',
    bytes: Buffer.concat([
      bytesOf(`${POST}\r\n${HOST}\r\nTransfer-Encoding: chunked\r\n\r\n`),
      ...Array.from({ length: 128 }, () =>
        Buffer.concat([bytesOf('10000\r\n'), Buffer.alloc(65_536), bytesOf('\r\n')]),
      ),
    ]),
    status: 413,
    code: 'too-large',
  },
];

/** The client hangs up before it has said everything. */
const cutOff: BadRequest[] = [
  { ...raw('a request line cut off', ['POST /queu'], 400, 'bad-request'), end: true },
  { ...raw('fields cut off', [POST, HOST, 'X-A: b'], 400, 'bad-request'), end: true },
  { ...raw('a body cut off', [POST, HOST, 'Content-Length: 100', '', 'too short'], 400, 'bad-request'), end: true },
  {
    ...raw('a chunk cut off', [POST, HOST, 'Transfer-Encoding: chunked', '', 'ff', 'too short'], 400, 'bad-request'),
    end: true,
  },
  {
    ...raw('the last chunk missing', [POST, HOST, 'Transfer-Encoding: chunked', '', '1', 'a', ''], 400, 'bad-request'),
    end: true,
  },
];

export const badMessages: BadRequest[] = [...requestLines, ...hosts, ...fields, ...framing, ...cutOff];
