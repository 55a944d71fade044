import assert from 'node:assert/strict';
import type { Answer } from '../../testing/http.ts';

export type Part = { rawHeaders: string[]; headers: Record<string, string>; body: Buffer };

/** Reads a multipart answer as any client would, byte by byte; not with the code that wrote it. */
export function parseParts({ headers, body, status }: Answer): Part[] {
  assert.equal(status, 200);
  const type = headers['content-type'] ?? '';
  const boundary = /^multipart\/mixed;.*boundary="?([^";]+)"?/.exec(type)?.[1];
  assert.ok(boundary, `not a multipart: ${type}`);
  const mark = Buffer.from(`\r\n--${boundary}`);
  const content = Buffer.concat([Buffer.from('\r\n'), body]);
  const parts: Part[] = [];
  for (let at = content.indexOf(mark); ; ) {
    assert.notEqual(at, -1, 'the last boundary is missing');
    const from = at + mark.length;
    if (content.subarray(from, from + 2).toString() === '--') return parts;
    assert.equal(content.subarray(from, from + 2).toString(), '\r\n');
    const end = content.indexOf(mark, from);
    parts.push(partOf(content.subarray(from + 2, end)));
    at = end;
  }
}

function partOf(bytes: Buffer): Part {
  // Without any field the empty line comes at once.
  const at = bytes.subarray(0, 2).toString() === '\r\n' ? 0 : bytes.indexOf('\r\n\r\n') + 2;
  const lines = bytes.subarray(0, at).toString('latin1').split('\r\n').filter(Boolean);
  const rawHeaders = lines.flatMap((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const headers: Record<string, string> = {};
  for (let i = 0; i < rawHeaders.length; i += 2) headers[rawHeaders[i]?.toLowerCase() ?? ''] = rawHeaders[i + 1] ?? '';
  return { rawHeaders, headers, body: bytes.subarray(at + 2) };
}
