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
  throw new Problem('bad-body', `${shown(String(twice.at(-1)))} must be given once`, {
    errors: [{ pointer: pointerAlong(twice), detail: 'must be given once' }],
  });
}

/** More steps than this are not shown: whoever nests so deep is told of the outermost. */
const MOST_STEPS = 20;

function pointerAlong(path: readonly (string | number)[]): string {
  const pointer = path.slice(0, MOST_STEPS).map((step) => pointerTo(String(step)));
  return `${pointer.join('')}${path.length > MOST_STEPS ? '/…' : ''}`;
}

/** What encloses the place that the scan has reached. */
interface Enclosing {
  /** The names of an object's members so far; null for an array. */
  readonly names: Set<string> | null;
  /** The member or the place in the array that was reached. */
  step: string | number;
}

/** The way to the first member that its object has already; undefined when there is none. `text` is valid JSON. */
export function memberGivenTwice(text: string): (string | number)[] | undefined {
  const enclosing: Enclosing[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
        enclosing.push({ names: new Set(), step: '' });
        isName = true;
        break;
      case '[':
        enclosing.push({ names: null, step: 0 });
        isName = false;
        break;
      case '}':
      case ']':
        enclosing.pop();
        isName = false;
        break;
      case ',': {
        const inner = enclosing.at(-1);
        isName = inner?.names !== null;
        if (typeof inner?.step === 'number') inner.step++;
        break;
      }
      case '"': {
        const end = endOfString(text, at);
        const inner = enclosing.at(-1);
        if (isName && inner !== undefined) {
          inner.step = JSON.parse(text.slice(at, end + 1)) as string;
          if (inner.names?.has(inner.step)) return enclosing.map(({ step }) => step);
          inner.names?.add(inner.step);
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
