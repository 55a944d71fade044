/** Outcomes as records: written by the hot thread when the group of their calls is done. */
import { Problem, type ProblemCode } from '../../../problems.ts';
import type { Forgotten, PostOutcome, SettleOutcome } from '../../store.ts';
import { retrySoon } from '../connection.ts';
import type { LineWriter } from './line.ts';
import { type RecordReader, type RecordWriter, wordsOfText } from './record.ts';
import {
  CLAIM,
  CLOSE,
  claimedWords,
  FAILURE,
  FORGET,
  type FoundMessage,
  HEAD_WORDS,
  POST,
  packClaimed,
  REPORT,
  SETTLE,
} from './wire.ts';

const POST_OUTCOMES: readonly PostOutcome[] = ['stored', 'no-destination', 'once-used'];
const SETTLE_OUTCOMES: readonly SettleOutcome[] = ['done', 'dead', 'overtaken', 'acknowledged', 'gone'];

export const postOutcomeOf = (from: RecordReader): PostOutcome => POST_OUTCOMES[from.number()] as PostOutcome;
export const settleOutcomeOf = (from: RecordReader): SettleOutcome => SETTLE_OUTCOMES[from.number()] as SettleOutcome;

export const forgottenOf = (from: RecordReader): Forgotten => ({
  last: from.number(),
  more: from.number() === 1,
  full: from.number() === 1,
});

/** The error as the caller would have met it, had there been no other thread. */
export function errorOf(from: RecordReader): Error {
  const code = from.textOrNull();
  const message = from.text();
  const cause = Object.assign(new Error(message), { stack: from.text() });
  return code === null ? cause : new Problem(code as ProblemCode, message, retrySoon, cause);
}

/** What is told beside the outcomes. */
export interface Report {
  /** By the groups since the last report. */
  readonly jobs: number;
  readonly bytes: number;
  readonly hasVolatileRoom: boolean;
}

export const reportOf = (from: RecordReader): Report => ({
  jobs: from.number(),
  bytes: from.number(),
  hasVolatileRoom: from.number() === 1,
});

/** Writes outcomes. The other side always takes them, so it waits where there is no room. */
export interface OutcomeWriter {
  posted(call: number, outcome: PostOutcome): void;
  settled(call: number, outcome: SettleOutcome): void;
  claimed(call: number, messages: readonly FoundMessage[]): void;
  forgot(call: number, forgotten: Forgotten): void;
  failed(call: number, error: unknown): void;
  closed(call: number): void;
  report(report: Report): void;
}

interface Coded {
  readonly kind: number;
  readonly call: number;
  readonly values: readonly number[];
}

function packCoded(to: RecordWriter, { kind, call, values }: Coded): void {
  to.number(kind);
  to.number(call);
  for (const value of values) to.number(value);
}

export function createOutcomeWriter(line: LineWriter): OutcomeWriter {
  const write = (kind: number, call: number, ...values: number[]): void =>
    line.writeWaiting(HEAD_WORDS + values.length, packCoded, { kind, call, values });
  return {
    posted: (call, outcome) => write(POST, call, POST_OUTCOMES.indexOf(outcome)),
    settled: (call, outcome) => write(SETTLE, call, SETTLE_OUTCOMES.indexOf(outcome)),
    claimed(call, messages) {
      line.writeWaiting(HEAD_WORDS + claimedWords(messages), packClaimedBy, { call, messages });
    },
    forgot: (call, { last, more, full }) => write(FORGET, call, last, more ? 1 : 0, full ? 1 : 0),
    failed(call, error) {
      const { message, stack = message } = error as Error;
      const code = error instanceof Problem ? error.code : null;
      const words = HEAD_WORDS + wordsOfText(code) + wordsOfText(message) + wordsOfText(stack);
      line.writeWaiting(words, packFailure, { call, code, message, stack });
    },
    closed: (call) => write(CLOSE, call),
    report: ({ jobs, bytes, hasVolatileRoom }) => write(REPORT, 0, jobs, bytes, hasVolatileRoom ? 1 : 0),
  };
}

function packClaimedBy(
  to: RecordWriter,
  { call, messages }: { readonly call: number; readonly messages: readonly FoundMessage[] },
): void {
  to.number(CLAIM);
  to.number(call);
  packClaimed(to, messages);
}

function packFailure(
  to: RecordWriter,
  failure: { readonly call: number; readonly code: string | null; readonly message: string; readonly stack: string },
): void {
  to.number(FAILURE);
  to.number(failure.call);
  to.text(failure.code);
  to.text(failure.message);
  to.text(failure.stack);
}
