/**
 * Two readers of the same bytes: ours, and the strict parser of the runtime. A proxy in front of Waypost, or a client
 * library, reads as the second does; a request that the two see differently is one that can be smuggled. So whatever
 * ours takes for requests, the other takes for the same requests, with the same fields and content. Ours may stop sooner.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../../testing/properties.ts';
import { type ReadRequest, readByNode, readByUs } from './wire.fixtures.ts';

const SECONDS = 4;

/** The first one more often than the others together: a request in which everything is odd is refused at its first byte. */
const mostly = <T>(usual: T, ...odd: T[]): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 4 }, { arbitrary: fc.constantFrom(...odd), weight: 1 });

/**
 * Left out: Upgrade (the runtime stops reading behind it; here nobody changes the protocol, so that what follows is the next
 * request, as RFC 9110 has it), Proxy-Connection (which means nothing here) and the method PRI (on which it hangs up).
 */
const fieldLine = fc.oneof(
  mostly(
    'Accept: */*',
    'Host: a.example',
    'Connection: close',
    'Connection: keep-alive',
    'Connection: TE, Keep-Alive',
    'Expect: 100-continue',
    'Content-Length: 0',
    'Content-Length: 5',
    'Content-Length:5',
    'content-length: 05',
    'Content-Length: 5 ',
    'Content-Length: 5\t',
    'Content-Length: +5',
    'Content-Length: 5,5',
    'Content-Length: 5, 5',
    'Content-Length: ',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: CHUNKED',
    'Transfer-Encoding:\tchunked',
    'Transfer-Encoding: chunked ',
    'Transfer-Encoding: identity',
    'Transfer-Encoding: chunked, chunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: ,chunked',
    'Transfer-Encoding: ',
    'Transfer-Encoding : chunked',
    'Cookie: a=b',
    'X-Empty:',
    'X-Blank: \t ',
    'X-Latin: \xe9\xff',
    ' folded: yes',
    '__proto__: x',
  ),
  fc
    .tuple(fc.stringMatching(/^[\w!#$%&'*+.^`|~-]{1,5}$/), fc.string({ maxLength: 8 }))
    .map(([name, value]) => `${name}: ${value}`),
);

const extension = mostly('', ';a', ';a=b', ';a="b c"', ';a="\\""', ';', ' ', ' ;a', '; a', ';a b', ';a="', ';\xe9');
const trailer = mostly(
  '',
  'X-Behind: it\r\n',
  'Content-Length: 9\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Connection: close\r\n',
  'Upgrade: h2c\r\nConnection: upgrade\r\n',
  'Host: b\r\n',
  'X : y\r\n',
  ' x: y\r\n',
);
const size = fc.constantFrom(
  (n: number) => n.toString(16),
  (n: number) => `0${n.toString(16)}`,
  (n: number) => n.toString(16).toUpperCase().padStart(12, '0'),
);
const content = fc.string({ minLength: 1, maxLength: 20 });

const chunkedBody = fc
  .tuple(fc.array(fc.tuple(content, extension, size), { maxLength: 3 }), extension, trailer)
  .map(([chunks, last, behind]) =>
    [
      ...chunks.map(([text, more, digits]) => `${digits(text.length)}${more}\r\n${text}\r\n`),
      `0${last}\r\n${behind}\r\n`,
    ].join(''),
  );

const framed = fc.oneof(
  fc.constant(''),
  content.map((text) => ({ line: `Content-Length: ${text.length}`, body: text })),
  chunkedBody.map((body) => ({ line: 'Transfer-Encoding: chunked', body })),
);

const request = fc
  .record({
    method: mostly('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'LINK', 'QUERY', 'M-SEARCH', 'SOURCE', 'get'),
    target: mostly(
      '/',
      '/queues/q?persistent=false',
      '*',
      'http://a.example/x',
      '/a%00b',
      '/a#b',
      '/"<>\\^`{|}',
      'a.example:80',
      '/\xe9',
    ),
    version: mostly('HTTP/1.1', 'HTTP/1.0', 'HTTP/1.2', 'HTTP/1.9', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1'),
    fields: fc.array(fieldLine, { maxLength: 3 }),
    frame: framed,
    before: mostly('', '\r\n', '\n', '\r', '\r\n\r\n'),
  })
  .map(({ method, target, version, fields, frame, before }) => {
    const lines = [`${method} ${target} ${version}`, ...fields, ...(frame === '' ? [] : [frame.line])];
    return `${before}${lines.join('\r\n')}\r\n\r\n${frame === '' ? '' : frame.body}`;
  });

/** What goes wrong on the way, or on purpose. */
const change = fc.oneof(
  fc.tuple(fc.nat(), fc.constantFrom(...'\0\t\n\r :;,"\\-+x0a#\x7f\x80\xff', '\r\n', '\r\n ')).map(
    ([at, text]) =>
      (all: string): string =>
        splice(all, at, 0, text),
  ),
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 4 })).map(
    ([at, count]) =>
      (all: string): string =>
        splice(all, at, count, ''),
  ),
  fc.tuple(fc.nat(), fc.nat({ max: 255 })).map(
    ([at, byte]) =>
      (all: string): string =>
        splice(all, at, 1, String.fromCharCode(byte)),
  ),
  fc.nat().map((at) => (all: string): string => {
    const lines = all.split('\r\n');
    const line = lines[at % lines.length] as string;
    return lines.toSpliced(at % lines.length, 0, line).join('\r\n');
  }),
  fc.nat().map(
    (at) =>
      (all: string): string =>
        all.slice(0, at % (all.length + 1)),
  ),
);

function splice(text: string, at: number, count: number, put: string): string {
  const from = at % (text.length + 1);
  return text.slice(0, from) + put + text.slice(from + count);
}

const wire = fc
  .tuple(
    fc.array(request, { minLength: 1, maxLength: 3 }),
    fc.oneof(fc.constant([]), fc.array(change, { minLength: 1, maxLength: 3 })),
  )
  .map(([requests, changes]) =>
    Buffer.from(
      changes.reduce((all, apply) => apply(all), requests.join('')),
      'latin1',
    ),
  );

/** Shown as text when a run fails. */
const bytes = wire.map((all) =>
  Object.assign(all, { [fc.toStringMethod]: () => JSON.stringify(all.toString('latin1')) }),
);

function cut(all: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (all.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...sorted]
    .map((from, i) => all.subarray(from, sorted[i] ?? all.length))
    .filter(({ length }) => length > 0);
}

const bounded = { interruptAfterTimeLimit: SECONDS * 1000, markInterruptAsFailure: false, numRuns: 4000 };

/** Blanks around a value are none of it (RFC 9112, section 5). The runtime refuses a tab behind this one all the same. */
const TAB_BEHIND_CODING = /transfer-encoding:[^\r\n]*\t\r\n/i;

/**
 * We read a later minor version as HTTP/1.1 (RFC 9110, section 6.2), the runtime refuses it: it is shown the same bytes with
 * the version it knows. Changes may make content or a field of a request line, so what both have read is compared without
 * that difference, wherever it stands.
 */
const asKnownVersion = (text: string): string => text.replaceAll(/HTTP\/1\.[2-9]/g, 'HTTP/1.1');
const asKnown = (requests: readonly ReadRequest[]): ReadRequest[] =>
  JSON.parse(asKnownVersion(JSON.stringify(requests)));

test('what we take for requests is the same to the parser of the runtime', async () => {
  await fc.assert(
    fc.asyncProperty(bytes, async (all) => {
      fc.pre(!TAB_BEHIND_CODING.test(all.toString('latin1')));
      const ours = await readByUs([all]);
      const shown = all.toString('latin1').replaceAll(/ HTTP\/1\.[2-9]/g, ' HTTP/1.1');
      const theirs = await readByNode([Buffer.from(shown, 'latin1')]);
      assert.deepEqual(asKnown(ours), asKnown(theirs.slice(0, ours.length)));
    }),
    bounded,
  );
});

test('bytes mean the same wherever they are cut', async () => {
  await fc.assert(
    fc.asyncProperty(bytes, fc.array(fc.nat(), { maxLength: 6 }), async (all, places) => {
      assert.deepEqual(await readByUs(cut(all, places)), await readByUs([all]));
    }),
    bounded,
  );
});
