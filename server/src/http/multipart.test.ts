import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import {
  boundaryOf,
  createMultipartParser,
  MultipartError,
  type MultipartLimits,
  type Part,
  renderMultipart,
} from './multipart.ts';

const limits: MultipartLimits = { parts: 100, headerBytes: 1000 };

function parse(message: string | Buffer, chunk = Number.POSITIVE_INFINITY, own = limits): Part[] {
  const parser = createMultipartParser('b', own);
  const bytes = Buffer.from(message as string, 'latin1');
  for (let at = 0; at < bytes.length; at += chunk) parser.write(bytes.subarray(at, at + chunk));
  return parser.end();
}

const shown = (parts: Part[]) => parts.map(({ headers, body }) => [headers, body.toString('latin1')]);

describe('the parser', () => {
  test('reads parts with their headers, without preamble and epilogue', () => {
    const message =
      'preamble\r\nnot --b\r\n--b\r\nContent-Type: text/plain\r\nX-Twice: 1\r\nx-twice:\t 2 \r\nX-Folded: a\r\n\t b\r\n\r\none' +
      '\r\n--b  \t\r\n\r\n\r\n--b\r\nX: \xe9\r\n\r\n--b-- \r\nepilogue\r\n--b\r\nno';
    for (const chunk of [Number.POSITIVE_INFINITY, 1, 2, 3, 7]) {
      assert.deepEqual(shown(parse(message, chunk)), [
        [
          [
            ['Content-Type', 'text/plain'],
            ['X-Twice', '1'],
            ['x-twice', '2'],
            ['X-Folded', 'a b'],
          ],
          'one',
        ],
        [[], ''],
        [[['X', '\xe9']], ''],
      ]);
    }
  });

  test('keeps bodies that look like boundaries', () => {
    const body = '\r\n--bb\r\n--b-\r\n--b -\r\n--b--x\r\n -- --b\n--b\r\n\r\n\r--b\r\n--';
    for (const chunk of [Number.POSITIVE_INFINITY, 1]) {
      assert.deepEqual(shown(parse(`--b\r\n\r\n${body}\r\n--b--`, chunk)), [[[], body]]);
    }
  });

  test('reads a message without parts', () => {
    assert.deepEqual(parse('--b--'), []);
    assert.deepEqual(parse('hello\r\n--b--\r\n'), []);
  });

  test('hands parts on as they are finished', () => {
    const seen: string[] = [];
    const parser = createMultipartParser('b', limits, ({ body }) => seen.push(body.toString()));
    parser.write(Buffer.from('--b\r\n\r\none\r\n--b\r\n\r\ntw'));
    assert.deepEqual(seen, ['one']);
    parser.write(Buffer.from('o\r\n--b--'));
    assert.deepEqual(parser.end(), []);
    assert.deepEqual(seen, ['one', 'two']);
  });

  test('names the bad part', () => {
    const good = '--b\r\nA: b\r\n\r\none\r\n';
    const bad: [string, number, RegExp][] = [
      ['', 0, /no line "--b"/],
      ['no boundary', 0, /no line "--b"/],
      ['--b\n\none\n--b--\n', 0, /CR LF/],
      ['--b', 0, /no line/],
      [good, 1, /end boundary "--b--" is missing/],
      [`${good}--b\r\n\r\ntwo`, 2, /missing/],
      [`${good}--b`, 1, /missing/],
      [`${good}--b\r\nA: b\r\n`, 2, /empty line/],
      [`${good}--b\r\nA: b\r\n--b--\r\n\r\n`, 2, /empty line/],
      [`${good}--b\r\nno colon\r\n\r\n--b--`, 2, /no colon: "no colon"/],
      [`${good}--b\r\n: x\r\n\r\n--b--`, 2, /header name/],
      [`${good}--b\r\nA : x\r\n\r\n--b--`, 2, /header name/],
      [`${good}--b\r\n folded: first\r\n\r\n--b--`, 2, /header name/],
      [`${good}--b\r\nA: x\ny\r\n\r\n--b--`, 2, /control character/],
      [`${good}--b\r\nA: x\r\n y\0\r\n\r\n--b--`, 2, /control character/],
    ];
    for (const [message, part, text] of bad) {
      for (const chunk of [Number.POSITIVE_INFINITY, 1]) {
        assert.throws(
          () => parse(message, chunk),
          (error) =>
            error instanceof MultipartError &&
            error.kind === 'malformed' &&
            error.part === part &&
            text.test(error.message),
          message,
        );
      }
    }
  });

  test('has limits of their own kind', () => {
    const two = '--b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--';
    assert.equal(parse(two, 5, { parts: 2, headerBytes: 10 }).length, 2);
    assert.throws(() => parse(two, 5, { parts: 1, headerBytes: 10 }), { kind: 'too-many-parts', part: 2 });
    const large = `--b\r\nA: ${'x'.repeat(1000)}\r\n\r\n--b--`;
    for (const chunk of [Number.POSITIVE_INFINITY, 1, 100]) {
      assert.throws(() => parse(large, chunk), { kind: 'header-too-big', part: 1 });
    }
    assert.throws(() => parse(`--b\r\n${'A'.repeat(5000)}`), { kind: 'header-too-big', part: 1 });
  });

  test('stays failed', () => {
    const parser = createMultipartParser('b', limits);
    assert.throws(() => parser.write(Buffer.from('--b\r\nbad\r\n\r\n')), MultipartError);
    assert.throws(() => parser.write(Buffer.from('\r\n--b--')), MultipartError);
    assert.throws(() => parser.end(), MultipartError);
  });

  test('any cut of any bytes gives the same parts or the same error', () => {
    const piece = fc.constantFrom('\r\n--b', '--b', '\r\n', '\r\n\r\n', '--', ' ', 'A: b', 'x', '\r', '\n', '-', ':');
    const outcome = (bytes: string, chunk: number) => {
      try {
        return shown(parse(bytes, chunk));
      } catch (error) {
        assert.ok(error instanceof MultipartError, String(error));
        return error.message;
      }
    };
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (pieces, chunk) => {
        const bytes = `--b\r\n\r\n${pieces.join('')}`;
        assert.deepEqual(outcome(bytes, chunk), outcome(bytes, Number.POSITIVE_INFINITY));
      }),
      { numRuns: 500 },
    );
  });
});

const headerName = fc.stringMatching(/^[A-Za-z-]{1,10}$/);
const headerValue = fc.stringMatching(/^[!-~\xA1-\xFF]([ -~\xA1-\xFF]{0,10}[!-~\xA1-\xFF])?$/);
const lookalike = fc.constantFrom('\r\n', '--', '\r\n--', 'boundary', '\r', '\n', '\0', 'é', '');
const body = fc.oneof(
  fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
  fc.array(lookalike, { maxLength: 20 }).map((pieces) => Buffer.from(pieces.join(''))),
);
const part = fc.record({ headers: fc.array(fc.tuple(headerName, headerValue), { maxLength: 4 }), body });

describe('renderMultipart', () => {
  test('any split of any rendered message gives the same parts', () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), cuts, (parts, sizes) => {
        const message = renderMultipart(parts);
        const boundary = boundaryOf(message.contentType);
        assert.ok(boundary);
        const parser = createMultipartParser(boundary, limits);
        for (let at = 0, turn = 0; at < message.body.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          parser.write(message.body.subarray(at, at + size));
          at += size;
        }
        assert.deepEqual(
          parser.end().map(({ headers, body }) => [headers, body]),
          parts.map(({ headers, body }) => [headers, body]),
        );
      }),
    );
  });

  test('lets no header break out', () => {
    const message = renderMultipart([{ headers: [['A', 'x\r\nEvil: y\u{1F600}\0']], body: Buffer.from('z') }]);
    const parser = createMultipartParser(boundaryOf(message.contentType) ?? '', limits);
    parser.write(message.body);
    assert.deepEqual(shown(parser.end()), [[[['A', 'x  Evil: y']], 'z']]);
    assert.throws(() => renderMultipart([{ headers: [['A\r\nB', 'x']], body: Buffer.alloc(0) }]), TypeError);
  });
});

test('boundaryOf reads the boundary of multipart types only', () => {
  assert.equal(boundaryOf('multipart/mixed; boundary=abc'), 'abc');
  assert.equal(boundaryOf('Multipart/Mixed;charset=x; Boundary="a b:c=?"'), 'a b:c=?');
  assert.equal(boundaryOf('multipart/mixed; boundary====abc=='), '===abc==');
  const bad = [
    'multipart/mixed',
    'text/plain; boundary=abc',
    'multipart/mixed; boundary=""',
    'multipart/mixed; boundary="a "',
    '',
    'multipart/mixed; boundary="a\r\nb"',
  ];
  for (const value of [...bad, `multipart/mixed; boundary=${'a'.repeat(71)}`])
    assert.equal(boundaryOf(value), undefined, value);
  assert.equal(boundaryOf(`multipart/mixed; boundary=${'a'.repeat(70)}`)?.length, 70);
});
