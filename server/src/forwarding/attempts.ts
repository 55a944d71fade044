/** What a subscriber shows of the last tries to reach its target. */
export interface Attempt {
  /** When it began. */
  readonly at: number;
  readonly milliseconds: number;
  /** The status of the answer; undefined when there was none. */
  readonly status?: number;
  /** What went wrong; undefined when nothing did. */
  readonly error?: string;
  /** The path of the message (the first one of a batch); undefined when only a link was asked for. */
  readonly message?: string;
  /** Of a batch. */
  readonly messages?: number;
}

export const ATTEMPTS_SHOWN = 20;

const MAX_ERROR = 300;

/** Errors hold words of the target, so they are cut. */
export const shortened = (error: string): string =>
  error.length <= MAX_ERROR ? error : `${error.slice(0, MAX_ERROR)}…`;
