/** A transaction and its participants as they stand in the log, and the rules for what clients give. */
import { Problem } from '../problems.ts';
import type { ParticipantLog, TransactionState } from './protocol.ts';

export interface Transaction {
  readonly id: number;
  readonly state: TransactionState;
  /** As the client gave it. */
  readonly timeout: string;
  readonly created: number;
  readonly deadline: number;
  readonly decided: number | null;
  readonly finished: number | null;
  readonly reason: string | null;
  readonly owner: string | null;
  readonly epoch: number;
}

/** What an operator did by hand, and who and why. */
export interface Resolution {
  readonly outcome: string;
  readonly by?: string;
  readonly why?: string;
  readonly at: number;
}

export interface Participant extends ParticipantLog {
  readonly kind: string | null;
  readonly lastError: string | null;
  readonly resolved: Resolution | null;
}

const DURATION = /^P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;

export const DEFAULT_TIMEOUT = '60000';

/** B2: whole milliseconds or an ISO 8601 duration, in milliseconds. Throws 422. */
export function readTimeout(text: string, most: number): number {
  const milliseconds = /^\d{1,15}$/.test(text) ? Number(text) : durationOf(text);
  if (milliseconds !== undefined && milliseconds > 0 && milliseconds <= most) return Math.ceil(milliseconds);
  const detail = `must be whole milliseconds or an ISO 8601 duration such as PT30S, above 0 and at most ${most} ms`;
  throw new Problem('invalid', `timeout ${detail}`, { errors: [{ pointer: '/timeout', detail }] });
}

function durationOf(text: string): number | undefined {
  const parts = DURATION.exec(text);
  if (parts === null || !/\d/.test(text) || text.endsWith('T')) return undefined;
  const [days, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
  ];
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000;
}

export const MAX_PARTICIPANTS = 256;
