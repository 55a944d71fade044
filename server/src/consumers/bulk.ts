/** Terminating many at once: what is asked for and what comes of each. */
import { Problem } from '../problems.ts';
import type { Change } from './consumer.ts';

export type BulkKind = 'consumer' | 'entitlement';

/** Something that is to be terminated. */
export interface Target {
  /** As the client wrote it. */
  readonly item: string;
  /** Undefined when it cannot be one of ours. */
  readonly id?: string;
}

/** What came of one item. `status` is that of the same request made for it alone. */
export interface Outcome extends Target {
  readonly status: 200 | 404 | 409 | 422;
  readonly outcome: 'terminated' | 'unchanged' | 'unknown' | 'refused';
}

export interface BulkOrder {
  readonly kind: BulkKind;
  readonly targets: readonly Target[];
  /** What is terminated already is refused. */
  readonly strict: boolean;
  readonly change: Change;
}

/** An order that runs in the background. */
export interface Job extends BulkOrder {
  readonly id: number;
  readonly total: number;
  readonly done: number;
  readonly created: number;
  readonly finished?: number;
}

/** Items of one transaction: enough to share a commit, few enough to hold no lock for long. */
export const PIECE = 50;

/** How long the outcomes of a finished job are kept. */
export const KEPT_MILLISECONDS = 24 * 3_600_000;

/** The lines of a text/uri-list (RFC 2483): comments and empty lines are left out. */
export function readUriList(body: string): string[] {
  return body
    .split(/\r\n|\n|\r/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** The ids of a JSON body: a list, or an object with `ids` and, if wanted, a reason. */
export function readJsonIds(value: unknown): { ids: string[]; rest: Readonly<Record<string, unknown>> } {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const { ids, ...rest } = isObject ? (value as Record<string, unknown>) : { ids: value };
  if (Array.isArray(ids) && ids.every((id) => typeof id === 'string')) return { ids, rest };
  const detail = 'must be a list of ids or URIs';
  throw new Problem('invalid', `ids ${detail}`, { errors: [{ pointer: '/ids', detail }] });
}

export function checkCount(count: number, most: number): void {
  if (count === 0) {
    const errors = [{ pointer: '/ids', detail: 'must name at least one' }];
    throw new Problem('invalid', 'nothing is named that could be terminated', { errors });
  }
  if (count > most) throw new Problem('too-large', `${count} are named; at most ${most} can be terminated at once`);
}
