/** What is known of a statement by its text: the name under which the server keeps its plan, and the types of its lists. */
import type { SqlValue } from '../store.ts';
import { type ListEncoder, listEncoders } from './lists.ts';

export interface Known {
  /** Undefined: the server makes a plan each time. */
  readonly name: string | undefined;
  /** By the place of the parameter. */
  readonly lists: readonly (ListEncoder | undefined)[];
}

/** A server keeps every named statement for each connection, and some texts depend on how much they are given. */
const MAX_NAMES = 1_000;
const LONGEST_NAMED = 10_000;

const known = new Map<string, Known>();

export function knownOf(text: string): Known {
  const found = known.get(text);
  if (found !== undefined) return found;
  const lists = listsIn(text);
  if (known.size >= MAX_NAMES || text.length > LONGEST_NAMED) return { name: undefined, lists };
  const made = { name: `w${known.size}`, lists };
  known.set(text, made);
  return made;
}

/** A parameter that is read as a list says so, `$3::bigint[]`. Any other list goes out as text, of whatever type it is. */
function listsIn(text: string): (ListEncoder | undefined)[] {
  const lists: (ListEncoder | undefined)[] = [];
  for (const [, place, type] of text.matchAll(/\$(\d+)::(\w+)\[\]/g)) {
    lists[Number(place) - 1] = listEncoders[type ?? ''];
  }
  return lists;
}

/** The values as they go out: the library sends a Buffer as it is, in binary, and everything else as text. */
export function encoded(values: readonly SqlValue[], lists: Known['lists']): readonly unknown[] {
  if (lists.length === 0) return values;
  const result: unknown[] = new Array(values.length);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    result[index] = Array.isArray(value) ? (lists[index]?.(value) ?? value) : value;
  }
  return result;
}
