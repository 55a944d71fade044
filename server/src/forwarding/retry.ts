/** When a failed forward is tried again, and when it is given up (A20). Milliseconds throughout. */

const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 15 * 60_000;
/** The share of a pause that chance adds, so that subscribers of one target do not come all at once. */
const JITTER = 0.2;

/** The pause after that many failed tries in a row. */
export function pauseAfter(tries: number, random: () => number = Math.random): number {
  const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(tries - 1, 20));
  return Math.round(pause * (1 + JITTER * random()));
}

/** How long Retry-After asks to wait: seconds or a date. Undefined when it cannot be read. */
export function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d{1,15}$/.test(text)) return Number(text) * 1000;
  // An HTTP date has a comma, a weekday or at least letters; a bare number was read above.
  const date = /[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

export interface Failing {
  /** Failed tries, this one included. */
  readonly tries: number;
  /** When the first of them failed. */
  readonly since: number;
}

/** When to try again; undefined when the message has failed for too long. */
export function nextTryAt(
  { tries, since }: Failing,
  wish: number | undefined,
  now: number,
  patience: number,
  random?: () => number,
): number | undefined {
  const end = since + patience;
  if (now >= end) return undefined;
  // A target may ask for more time, but not for more than there is: the last try is made when patience ends.
  return Math.min(end, now + Math.max(pauseAfter(tries, random), wish ?? 0));
}
