/** One link: of a Link field, of a JSON document or of an XML one. */
export type Link = { rel: string; href: string; method?: string; type?: string; title?: string };

/** One value of a Link-Template field (RFC 9652): a template in place of an address. */
export type Template = { rel: string; template: string };

const PARAMETER = /^\s*;\s*([!#$&+\-.^_`|~A-Za-z0-9]+\*?)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;<>]+)))?/;

/** Reads a Link field (RFC 8288). Strict: a header that only a lenient reader understands is a fault. */
export function parseLinks(field: string): Link[] {
  return parseList(field, /^<([^<>\s"]*)>/, '<').map(({ value, parameters }) => {
    const { rel, type, title } = parameters;
    if (rel === undefined || rel === '') throw new Error(`a link without a relation: <${value}>`);
    return { rel, href: value, ...(type === undefined ? {} : { type }), ...(title === undefined ? {} : { title }) };
  });
}

/** Reads a Link-Template field: a structured field of strings. */
export function parseTemplates(field: string): Template[] {
  return parseList(field, /^"((?:[^"\\]|\\["\\])*)"/, '"').map(({ value, parameters }) => {
    if (parameters.rel === undefined) throw new Error(`a template without a relation: ${value}`);
    return { rel: parameters.rel, template: value };
  });
}

function parseList(field: string, head: RegExp, opening: string) {
  const found: { value: string; parameters: Record<string, string | undefined> }[] = [];
  let rest = field.trim();
  const take = (pattern: RegExp): RegExpExecArray | null => {
    const match = pattern.exec(rest);
    if (match) rest = rest.slice(match[0].length);
    return match;
  };
  while (rest !== '') {
    const value = take(head);
    if (!value) throw new Error(`unreadable at: ${rest}`);
    const parameters: Record<string, string | undefined> = {};
    for (let match = take(PARAMETER); match; match = take(PARAMETER)) {
      // Of a parameter given twice the first counts.
      parameters[(match[1] ?? '').toLowerCase()] ??= match[2]?.replace(/\\(.)/g, '$1') ?? match[3] ?? '';
    }
    found.push({ value: value[1] ?? '', parameters });
    if (rest === '') break;
    if (!take(/^\s*,\s*/) || !rest.startsWith(opening)) throw new Error(`unreadable at: ${rest}`);
  }
  return found;
}

/** Fills in a template of simple expansions (RFC 6570, level 1), the only ones the service hands out. */
export function expand(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{([^}]*)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the template ${template} asks for ${name}`);
    return encodeURIComponent(value).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  });
}
