/**
 * Outcomes on their way back. Those of one group leave together when the group is done, whatever bundles they came with:
 * nobody waits for the rest of his bundle, and what was claimed is not kept for it.
 */
import type { MessagePort } from 'node:worker_threads';
import { Problem } from '../../../problems.ts';
import type { ClaimedMessage, Forgotten, PostOutcome, SettleOutcome } from '../../store.ts';
import {
  type CallKind,
  type CallPlace,
  type CarriedFailure,
  type ClaimedByCall,
  gatherTexts,
  LARGE_BODY,
  type OutcomeBundle,
  packBodies,
  packClaimed,
  postOutcomeNumber,
  settleOutcomeNumber,
} from './wire.ts';

interface OutcomeOf {
  readonly posts: PostOutcome;
  readonly claims: readonly ClaimedMessage[];
  readonly settlements: SettleOutcome;
  readonly steps: Forgotten;
}

export interface Outcomes {
  /** Has the outcome of a call sent when it is there. */
  expect<Kind extends CallKind>(kind: Kind, call: CallPlace, outcome: Promise<OutcomeOf[Kind]>): void;
  /** Told what a commit wrote. */
  committed(jobs: number, bytes: number): void;
}

interface Gathered {
  readonly posts: number[];
  readonly settlements: number[];
  readonly claimed: ClaimedByCall[];
  readonly steps: { call: CallPlace; forgotten: Forgotten }[];
  readonly failures: CarriedFailure[];
}

const nothing = (): Gathered => ({ posts: [], settlements: [], claimed: [], steps: [], failures: [] });

export function gatherOutcomes(port: MessagePort, hasVolatileRoom: () => boolean): Outcomes {
  let gathered = nothing();
  let written = { jobs: 0, bytes: 0 };
  let scheduled = false;

  const add: { [Kind in CallKind]: (call: CallPlace, outcome: OutcomeOf[Kind]) => void } = {
    posts: ({ bundle, index }, outcome) => gathered.posts.push(bundle, index, postOutcomeNumber(outcome)),
    settlements: ({ bundle, index }, outcome) => gathered.settlements.push(bundle, index, settleOutcomeNumber(outcome)),
    claims: (call, messages) => gathered.claimed.push({ call, messages }),
    steps: (call, forgotten) => gathered.steps.push({ call, forgotten }),
  };

  /** After all that this group has settled, and before the next one runs. */
  function sendSoon(): void {
    if (scheduled) return;
    scheduled = true;
    process.nextTick(send);
  }

  function send(): void {
    scheduled = false;
    const { posts, settlements, claimed, steps, failures } = gathered;
    gathered = nothing();
    const small: Uint8Array[] = [];
    const largeBodies: Uint8Array<ArrayBuffer>[] = [];
    for (const { messages } of claimed) {
      for (const { body } of messages) {
        if (body.length < LARGE_BODY) small.push(body);
        // As SQLite gave it: in memory of its own.
        else largeBodies.push(body as Uint8Array<ArrayBuffer>);
      }
    }
    const texts = gatherTexts();
    const bodies = packBodies(small);
    const outcomes: OutcomeBundle = {
      posts,
      settlements,
      claims: packClaimed(claimed, texts),
      texts: texts.all,
      steps,
      failures,
      bodies,
      largeBodies,
      written,
      hasVolatileRoom: hasVolatileRoom(),
    };
    written = { jobs: 0, bytes: 0 };
    port.postMessage(outcomes, [bodies.buffer, ...largeBodies.map(({ buffer }) => buffer)]);
  }

  return {
    expect(kind, call, outcome) {
      outcome.then(
        (value) => {
          add[kind](call, value);
          sendSoon();
        },
        (error: Error) => {
          const code = error instanceof Problem ? error.code : undefined;
          gathered.failures.push({ call, kind, code, message: error.message, stack: error.stack });
          sendSoon();
        },
      );
    },
    committed(jobs, bytes) {
      written = { jobs: written.jobs + jobs, bytes: written.bytes + bytes };
    },
  };
}
