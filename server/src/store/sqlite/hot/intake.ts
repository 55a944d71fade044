/**
 * Takes calls off the line and makes jobs of them, as many as a group may have. Verdicts and posts come first: what they
 * bring back or bring in can be claimed by the same commit.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Claim, Forgotten, PostOutcome, SettleOutcome } from '../../store.ts';
import { createClaiming } from './claiming.ts';
import { createForgetting } from './forgetting.ts';
import { type HotJob, hotJob } from './hot-group.ts';
import type { LineReader, LineWriter } from './line.ts';
import type { OutcomeWriter } from './outcomes.ts';
import { createPosting } from './posting.ts';
import { createSettling } from './settling.ts';
import {
  CLAIM,
  FORGET,
  type FoundMessage,
  POST,
  SETTLE,
  unpackClaim,
  unpackPosting,
  unpackSettlement,
  unpackStep,
} from './wire.ts';

/** Bounds of one group: enough to share a sync among all clients, not so much that others wait long for their turn. */
const MOST_CALLS = 256;
const MOST_BYTES = 16 * 1024 * 1024;
/** How many messages claims may want together. */
const MOST_WANTED = 512;
/**
 * How much content the claims of a group take into memory, and how much of large messages may be on its way to the clients'
 * thread. The rest of the claims wait: memory is bounded.
 */
const MOST_CLAIMED_BYTES = 32 * 1024 * 1024;

/** About what a verdict and a taken message write, and a piece of forgotten ones. */
const ROW_BYTES = 200;
const FORGOTTEN_BYTES = 150_000;

interface Called<Outcome> {
  readonly call: number;
  readonly job: HotJob<Outcome>;
}

interface WaitingClaim {
  readonly call: number;
  readonly claim: Claim;
}

/** What each of them found. Undefined: there was no room for it, it has to come with the next group. */
type ClaimedTogether = (FoundMessage[] | undefined)[];

/** Claims on one destination, which share a job. */
interface ClaimsTogether {
  readonly claims: WaitingClaim[];
  readonly job: HotJob<ClaimedTogether>;
}

export interface Intake {
  /** The jobs of the next group. None: nothing was called, or what was called has to wait. */
  take(): readonly HotJob[];
  /** Writes the outcomes of the jobs that were taken last and have run. */
  answer(): void;
  /** Others had a turn at the database. */
  disturbed(): void;
  /** The last call of all, when it is there: the store is to be closed. */
  closing(): number | undefined;
}

export function createIntake(db: DatabaseSync, line: LineReader, answers: LineWriter, outcomes: OutcomeWriter): Intake {
  const posting = createPosting(db);
  const claim = createClaiming(db);
  const settle = createSettling(db);
  const forget = createForgetting(db);

  let posts: Called<PostOutcome>[] = [];
  let settlements: Called<SettleOutcome>[] = [];
  let steps: Called<Forgotten>[] = [];
  let claims: ClaimsTogether[] = [];
  /** Claims that no group has taken yet. */
  let waiting: WaitingClaim[] = [];
  let closing: number | undefined;

  /** Looks at deliveries: none may be noted only. */
  const amongAll =
    <Outcome>(run: () => Outcome) =>
    (): Outcome => {
      posting.enterNoted();
      return run();
    };

  function takeCalls(): void {
    let bytes = 0;
    for (let calls = 0; calls < MOST_CALLS && bytes < MOST_BYTES; calls++) {
      const from = line.next();
      if (from === undefined) return;
      const kind = from.number();
      const call = from.number();
      if (kind === POST) {
        const job = posting.job(unpackPosting(from));
        bytes += job.bytes;
        posts.push({ call, job });
      } else if (kind === CLAIM) waiting.push({ call, claim: unpackClaim(from) });
      else if (kind === SETTLE) {
        const settlement = unpackSettlement(from);
        settlements.push({ call, job: hotJob(amongAll(() => settle(settlement))) });
      } else if (kind === FORGET) {
        const step = unpackStep(from);
        steps.push({
          call,
          job: hotJob(
            amongAll(() => forget(step)),
            { bytes: FORGOTTEN_BYTES },
          ),
        });
      } else closing = call;
    }
  }

  /** Of those that wait the first, as many as may go together, by destination. */
  function takeClaims(): void {
    if (waiting.length === 0 || answers.largeBytesUnderWay() > MOST_CLAIMED_BYTES) return;
    const byDestination = new Map<number, WaitingClaim[]>();
    let wanted = 0;
    let taken = 0;
    for (const each of waiting) {
      const { destination, max } = each.claim;
      if (taken > 0 && wanted + max > MOST_WANTED) break;
      wanted += max;
      taken++;
      const together = byDestination.get(destination);
      if (together === undefined) byDestination.set(destination, [each]);
      else together.push(each);
    }
    waiting = waiting.slice(taken);
    const room = { bytes: 0 };
    for (const together of byDestination.values()) {
      const asked = together.map((each) => each.claim);
      const isFirst = claims.length === 0;
      const run = (): ClaimedTogether => {
        // Jobs may have to run again. The first finds all the room each time, so that it has an outcome or fails: were there
        // none left, it would be put off, and fail and be put off again as long as what made it fail lasts.
        if (isFirst) room.bytes = MOST_CLAIMED_BYTES;
        return claim(asked, room);
      };
      claims.push({ claims: together, job: hotJob(amongAll(run), { bytes: ROW_BYTES * asked.length }) });
    }
  }

  function answerClaims({ claims, job }: ClaimsTogether, putOff: WaitingClaim[]): void {
    for (const [index, each] of claims.entries()) {
      if (job.error !== undefined) outcomes.failed(each.call, job.error);
      else {
        const found = job.outcome?.[index];
        if (found === undefined) putOff.push(each);
        else outcomes.claimed(each.call, found);
      }
    }
  }

  function answerAll<Outcome>(
    called: readonly Called<Outcome>[],
    write: (call: number, outcome: Outcome) => void,
  ): void {
    for (const { call, job } of called) {
      if (job.error === undefined) write(call, job.outcome as Outcome);
      else outcomes.failed(call, job.error);
    }
  }

  return {
    take() {
      takeCalls();
      takeClaims();
      const jobs: HotJob[] = [];
      for (const { job } of settlements) jobs.push(job);
      for (const { job } of posts) jobs.push(job);
      for (const { job } of claims) jobs.push(job);
      for (const { job } of steps) jobs.push(job);
      posting.begin(jobs.length === posts.length);
      return jobs;
    },
    answer() {
      answerAll(settlements, outcomes.settled);
      answerAll(posts, outcomes.posted);
      const putOff: WaitingClaim[] = [];
      for (const each of claims) answerClaims(each, putOff);
      // Ahead of those that came later: the first of a group never goes away without an outcome, so that none waits for ever.
      if (putOff.length > 0) waiting = [...putOff, ...waiting];
      answerAll(steps, outcomes.forgot);
      settlements = [];
      posts = [];
      claims = [];
      steps = [];
    },
    disturbed: posting.disturbed,
    closing: () => closing,
  };
}
