/** Reads the fields of a document that a client sent, and gathers everything that is wrong with them. */
import type { Kind } from '../kinds.ts';
import { type FieldError, MOST_FIELD_ERRORS, Problem, pointerTo } from '../problems.ts';

/** What a body said: texts, and in JSON values of any kind. */
export type Input = Readonly<Record<string, unknown>>;

export interface Fields {
  /** Undefined when the field is not there; null when it was emptied, where that is allowed. */
  text(name: string, most: number): string | undefined;
  optionalText(name: string, most: number): string | null | undefined;
  number(name: string, kind: Kind<number>): number | undefined;
  optionalTime(name: string, kind: Kind<number>): number | null | undefined;
  metadata(name: string): Metadata | undefined;
  /** The fields of an object in a field; what is wrong with them is gathered here, too. */
  within(name: string, input: Input, known: readonly string[]): Fields;
  wrong(name: string, detail: string): undefined;
  /** Whether nothing was wrong so far. */
  readonly isRight: boolean;
  /** Throws when anything was wrong. */
  end(): void;
}

export type Metadata = Readonly<Record<string, string>>;

/** What XML 1.0 cannot hold: such a text would come back changed. */
const UNWRITABLE = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
/** Keys are element names in XML. A `link` there would be read as a link of the document. */
const KEY = /^(?!link$)[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;
const MOST_KEYS = 50;
const LONGEST_VALUE = 1000;

const lengthOf = (text: string): number => [...text].length;

/** The text without spaces around it; undefined when it is none or too long. */
function readText(value: unknown, most: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return lengthOf(text) <= most && !UNWRITABLE.test(text) ? text : undefined;
}

export function fieldsOf(input: Input, known: readonly string[]): Fields {
  return readerOf(input, known, '', []);
}

function readerOf(input: Input, known: readonly string[], prefix: string, errors: FieldError[]): Fields {
  const wrong = (name: string, detail: string): undefined => {
    if (errors.length < MOST_FIELD_ERRORS) errors.push({ pointer: prefix + pointerTo(name), detail });
  };
  for (const name of Object.keys(input)) {
    if (!known.includes(name)) wrong(name, `is not known here; known are ${known.join(', ')}`);
  }

  function optionalText(name: string, most: number): string | null | undefined {
    const value = input[name];
    if (value === undefined) return undefined;
    if (value === null || value === '') return null;
    const text = readText(value, most);
    if (text === undefined) return wrong(name, `must be a text of 1 to ${most} characters that XML can hold`);
    return text === '' ? null : text;
  }

  function number(name: string, kind: Kind<number>): number | undefined {
    const value = input[name];
    if (value === undefined) return undefined;
    const read = typeof value === 'string' || typeof value === 'number' ? kind.read(String(value)) : undefined;
    return read ?? wrong(name, `must be ${kind.expected}`);
  }

  return {
    optionalText,
    text(name, most) {
      const value = optionalText(name, most);
      return value === null ? wrong(name, `must be a text of 1 to ${most} characters`) : value;
    },
    number,
    optionalTime: (name, kind) => (input[name] === null || input[name] === '' ? null : number(name, kind)),
    metadata(name) {
      const value = input[name];
      if (value === undefined) return undefined;
      if (value === null || value === '') return {};
      if (typeof value !== 'object' || Array.isArray(value)) return wrong(name, 'must be an object of texts');
      const entries = Object.entries(value);
      if (entries.length > MOST_KEYS) return wrong(name, `must have at most ${MOST_KEYS} keys`);
      const metadata: [string, string][] = [];
      const inner = readerOf({}, [], prefix + pointerTo(name), errors);
      for (const [key, each] of entries) {
        const text = readText(each, LONGEST_VALUE);
        if (!KEY.test(key)) {
          inner.wrong(key, 'keys have 1 to 64 characters of A-Z a-z 0-9 . _ -, a letter or _ first; not link');
        } else if (text === undefined) {
          inner.wrong(key, `must be a text of at most ${LONGEST_VALUE} characters that XML can hold`);
        } else metadata.push([key, text]);
      }
      // A key may be called __proto__: assigned, it would be lost.
      return Object.fromEntries(metadata);
    },
    within: (name, inner, names) => readerOf(inner, names, prefix + pointerTo(name), errors),
    wrong,
    get isRight() {
      return errors.length === 0;
    },
    end() {
      if (errors.length === 0) return;
      const detail = errors.map((error) => `${error.pointer?.slice(1)} ${error.detail}`).join('; ');
      throw new Problem('invalid', detail, { errors });
    },
  };
}

const LONGEST_REASON = 1000;

/** What may be said with a change of state. Empty: nothing. */
export function readReason(input: Input): string | undefined {
  const fields = fieldsOf(input, ['reason']);
  const reason = fields.optionalText('reason', LONGEST_REASON);
  fields.end();
  return reason ?? undefined;
}
