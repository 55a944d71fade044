/** What the models of a queue and of a topic share: drafts, settings, and the clock. Times are milliseconds. */

/** What a client posts. Undefined: left to the destination's settings. Durations in seconds, as clients give them. */
export interface Draft {
  readonly body: string;
  readonly contentType: string | null;
  readonly priority: number | undefined;
  readonly delay: number | undefined;
  readonly ttl: number | undefined;
  /** `persistent=false` (A5). */
  readonly volatile: boolean;
}

export const DEFAULT_PRIORITY = 4;

/** The time so many seconds from a moment. Parts of a millisecond are rounded in favour of the longer time. */
export const later = (from: number, seconds: number): number => Math.ceil(from + seconds * 1000);

export const isOver = (due: number | null, now: number): boolean => due !== null && due <= now;

/**
 * Of things whose time has come together: the one that was due first comes first, then the one that arrived first. The
 * models keep them in the order of arrival, which sorting preserves.
 */
export function byDueTime(a: Timed, b: Timed): number {
  return (a.due ?? 0) - (b.due ?? 0);
}

export interface Timed {
  readonly due: number | null;
}
