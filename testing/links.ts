/** One value of a Link header: its target as written, its relation, and its other parameters. */
export type Link = { rel: string; href: string } & Record<string, string>;

/**
 * Reads a Link header (RFC 8288). Strict, other than a client in the field would be: a test has to notice a header that
 * only a lenient reader understands.
 */
export function parseLinks(header: string): Link[] {
  const links: Link[] = [];
  let rest = header;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    const match = pattern.exec(rest);
    if (match) rest = rest.slice(match[0].length);
    return match;
  };
  while (rest !== '') {
    const target = take(/^<([^<>\s"]*)>/);
    if (!target) throw new Error(`Unreadable Link header at: ${rest}`);
    const link: Link = { rel: '', href: target[1] ?? '' };
    for (;;) {
      const parameter = take(/^\s*;\s*([!#$&+\-.^_`|~A-Za-z0-9]+\*?)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;<>]+))/);
      if (!parameter) break;
      const name = (parameter[1] ?? '').toLowerCase();
      // RFC 8288, 3.3: of two relations of one link the first counts.
      if (name === 'rel' && link.rel !== '') continue;
      link[name] = parameter[2]?.replace(/\\(.)/g, '$1') ?? parameter[3] ?? '';
    }
    if (link.rel === '') throw new Error(`A link without a relation: ${target[0]}`);
    links.push(link);
    if (rest !== '' && !take(/^\s*,\s*(?=<)/)) throw new Error(`Unreadable Link header at: ${rest}`);
  }
  return links;
}
