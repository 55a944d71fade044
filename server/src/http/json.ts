/**
 * Reads JSON that clients send. A member that is given twice is refused: `JSON.parse` takes the last of them, others the
 * first, so two readers of the same text would see different things (RFC 8259, section 4). The scan runs over text that
 * has been parsed, so it need not know what is well formed, only where strings and objects begin and end.
 */
import { Problem, pointerTo, shown } from '../problems.ts';

/** Throws 400 when it is not JSON, or names a member twice. */
export function parseJson(body: Buffer): unknown {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    value = JSON.parse(text);
  } catch (error) {
    throw new Problem('bad-body', `the body is not well-formed JSON: ${(error as Error).message}`);
  }
  const twice = memberGivenTwice(text);
  if (twice === undefined) return value;
  throw new Problem('bad-body', `${shown(twice)} must be given once`, {
    errors: [{ pointer: pointerTo(twice), detail: 'must be given once' }],
  });
}

/** The name of the first member that its object has already; undefined when there is none. `text` is valid JSON. */
export function memberGivenTwice(text: string): string | undefined {
  /** What encloses the place that was reached: the names of an object's members so far, or null for an array. */
  const enclosing: (Set<string> | null)[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
        enclosing.push(new Set());
        isName = true;
        break;
      case '[':
        enclosing.push(null);
        isName = false;
        break;
      case '}':
      case ']':
        enclosing.pop();
        isName = false;
        break;
      case ',':
        isName = enclosing.at(-1) !== null;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (isName) {
          const name = JSON.parse(text.slice(at, end + 1)) as string;
          const names = enclosing.at(-1);
          if (names?.has(name)) return name;
          names?.add(name);
        }
        isName = false;
        at = end;
      }
    }
  }
  return undefined;
}

/** Where the quote is that ends the string: the first that is not escaped. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes++;
    if (escapes % 2 === 0) return end;
  }
}
