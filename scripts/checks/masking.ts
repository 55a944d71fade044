/**
 * The same text with everything blanked that is not code: comments, and what stands between quotes, in template
 * literals and in regular expressions. Positions and line breaks stay as they are, so that a match in the masked text
 * can be looked up in the original. `${…}` inside a template stays code.
 */
export function maskNonCode(source: string): string {
  const out: string[] = [];
  /** For each template literal around the present position: how many braces its `${` has open. */
  const templates: number[] = [];
  let position = 0;
  let lastCode = '';

  const blankUntil = (end: number) => {
    for (; position < end; position += 1) out.push(source[position] === '\n' ? '\n' : ' ');
  };
  const keep = () => {
    const char = source[position] ?? '';
    out.push(char);
    if (char.trim() !== '') lastCode = char;
    position += 1;
  };
  const keepLiteral = (end: number) => {
    keep();
    blankUntil(Math.min(end, source.length));
    if (position < source.length) keep();
  };
  const templatePart = () => {
    const end = endOfTemplatePart(source, position);
    blankUntil(end);
    if (source[position] === '`') {
      keep();
      templates.pop();
    } else if (position < source.length) {
      keep();
      keep();
      templates[templates.length - 1] = 0;
    }
  };

  while (position < source.length) {
    const char = source[position];
    const two = source.slice(position, position + 2);
    if (two === '//') blankUntil(indexOr(source, '\n', position, source.length));
    else if (two === '/*') blankUntil(indexOr(source, '*/', position + 2, source.length - 2) + 2);
    else if (char === "'" || char === '"') keepLiteral(endOfQuoted(source, position + 1, char));
    else if (char === '/' && regexMayFollow(out, lastCode)) keepLiteral(endOfRegex(source, position + 1));
    else if (char === '`') {
      keep();
      templates.push(0);
      templatePart();
    } else if (templates.length > 0 && char === '{') {
      templates[templates.length - 1] = (templates.at(-1) ?? 0) + 1;
      keep();
    } else if (templates.length > 0 && char === '}') {
      const open = templates.at(-1) ?? 0;
      templates[templates.length - 1] = open - 1;
      keep();
      if (open === 0) templatePart();
    } else keep();
  }
  return out.join('');
}

function indexOr(source: string, wanted: string, from: number, otherwise: number): number {
  const found = source.indexOf(wanted, from);
  return found === -1 ? otherwise : found;
}

function endOfQuoted(source: string, from: number, quote: string): number {
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === quote || source[at] === '\n') return at;
  }
  return source.length;
}

/** The position of the closing backtick or of the next `${`. */
function endOfTemplatePart(source: string, from: number): number {
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === '`' || (source[at] === '$' && source[at + 1] === '{')) return at;
  }
  return source.length;
}

function endOfRegex(source: string, from: number): number {
  let inClass = false;
  for (let at = from; at < source.length; at += 1) {
    const char = source[at];
    if (char === '\\') at += 1;
    else if (char === '\n') return at;
    else if (char === '[') inClass = true;
    else if (char === ']') inClass = false;
    else if (char === '/' && !inClass) return at;
  }
  return source.length;
}

/** A slash divides after a value and begins a regular expression after an operator or a keyword. */
function regexMayFollow(out: string[], lastCode: string): boolean {
  if (!/[\w$)\]}'"`]/.test(lastCode)) return true;
  return /\b(return|typeof|case|of|in|await|yield|else|do)\s*$/.test(out.slice(-20).join(''));
}
