/** The kinds of calls: how a question is written for the other thread, and how its outcome is read. */
import type {
  Claim,
  ClaimedMessage,
  ForgetStep,
  Forgotten,
  PostOutcome,
  Settlement,
  SettleOutcome,
} from '../../store.ts';
import { forgottenOf, postOutcomeOf, settleOutcomeOf } from './outcomes.ts';
import type { RecordReader, RecordWriter } from './record.ts';
import {
  CLAIM,
  CLAIM_WORDS,
  CLOSE,
  FORGET,
  HEAD_WORDS,
  type PlacedPosting,
  POST,
  packClaim,
  packPosting,
  packSettlement,
  packStep,
  postingWords,
  SETTLE,
  SETTLEMENT_WORDS,
  STEP_WORDS,
  unpackClaimed,
} from './wire.ts';

/** What is kept of a question until its outcome is there. */
export type Asked = Pick<Claim, 'destination' | 'token'> | undefined;

export interface CallKind<Question, Outcome> {
  readonly number: number;
  words(question: Question): number;
  pack(to: RecordWriter, question: Question): void;
  unpack(from: RecordReader, asked: Asked): Outcome;
}

/** A call as it is written. */
export interface Call<Question> {
  readonly number: number;
  readonly kind: CallKind<Question, unknown>;
  readonly question: Question;
}

export const callWords = <Question>({ kind, question }: Call<Question>): number => HEAD_WORDS + kind.words(question);

export function packCall<Question>(to: RecordWriter, { number, kind, question }: Call<Question>): void {
  to.number(kind.number);
  to.number(number);
  kind.pack(to, question);
}

export const posts: CallKind<PlacedPosting, PostOutcome> = {
  number: POST,
  words: postingWords,
  pack: packPosting,
  unpack: postOutcomeOf,
};
export const claims: CallKind<Claim, ClaimedMessage[]> = {
  number: CLAIM,
  words: () => CLAIM_WORDS,
  pack: packClaim,
  unpack: (from, asked) => unpackClaimed(from, asked as NonNullable<Asked>),
};
export const settlements: CallKind<Settlement, SettleOutcome> = {
  number: SETTLE,
  words: () => SETTLEMENT_WORDS,
  pack: packSettlement,
  unpack: settleOutcomeOf,
};
export const steps: CallKind<ForgetStep, Forgotten> = {
  number: FORGET,
  words: () => STEP_WORDS,
  pack: packStep,
  unpack: forgottenOf,
};
/** The last call of all. */
export const closing: CallKind<undefined, undefined> = {
  number: CLOSE,
  words: () => 0,
  pack: () => {},
  unpack: () => undefined,
};
