/** One part of a multipart body: names in lower case, as they came, and the content byte for byte. */
export type Part = { headers: Record<string, string>; body: Buffer };

/** Reads a multipart body (RFC 2046) as its Content-Type says; an error when it is not one. */
export function parseMultipart(contentType: string, body: Buffer): Part[] {
  const boundary = /^multipart\/mixed\s*;\s*boundary=(?:"([^"]+)"|([^\s;"]+))\s*$/i.exec(contentType);
  if (!boundary) throw new Error(`not multipart/mixed with a boundary: ${contentType}`);
  const delimiter = `\r\n--${boundary[1] ?? boundary[2]}`;
  // Latin-1 keeps each byte as one character.
  const pieces = `\r\n${body.toString('latin1')}`.split(delimiter);
  const closing = pieces.pop();
  if (!closing?.startsWith('--')) throw new Error('the multipart body does not end with its closing boundary');
  return pieces.slice(1).map((piece) => {
    const text = piece.replace(/^[ \t]*\r\n/, '');
    const end = text.startsWith('\r\n') ? 0 : text.indexOf('\r\n\r\n') + 2;
    const headers: Record<string, string> = {};
    for (const line of text.slice(0, end).split('\r\n')) {
      const colon = line.indexOf(':');
      if (colon <= 0) continue;
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
    }
    return { headers, body: Buffer.from(text.slice(end + 2), 'latin1') };
  });
}

/** Writes a multipart/mixed body. The boundary is one that no content of a case holds. */
export function writeMultipart(
  parts: readonly { headers?: Readonly<Record<string, string>>; body: string | Buffer }[],
): { contentType: string; body: Buffer } {
  const boundary = 'cut-between-messages';
  const pieces = parts.flatMap(({ headers = {}, body }) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return [Buffer.from(`--${boundary}\r\n${lines.join('')}\r\n`), Buffer.from(body), Buffer.from('\r\n')];
  });
  return {
    contentType: `multipart/mixed; boundary=${boundary}`,
    body: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  };
}
