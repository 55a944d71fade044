/** The life of this node: it enters at the start, says in time that it is alive, looks after others, and leaves. */
import { BEAT_EVERY, createMember, type MemberOptions, type Membership } from './membership.ts';

export interface Nodes {
  readonly membership: Membership;
  /** Resolves when this node is entered. */
  start(): Promise<void>;
  /** Resolves when what it owned is free for others. */
  stop(): Promise<void>;
}

export interface NodesOptions extends MemberOptions {
  readonly onError: (error: unknown) => void;
}

/** A lease is over six seconds after the last beat; this much later at most it is noticed. */
const WATCH_EVERY = 500;
/** After one that failed. */
const BEAT_AGAIN = 500;

export function createNodes(options: NodesOptions): Nodes {
  const member = createMember(options);
  const timers = new Set<NodeJS.Timeout>();
  const rounds = new Set<Promise<void>>();
  let stopping = false;

  /** Repeats a step with pauses in between. */
  function every(milliseconds: number, afterError: number, step: () => Promise<void>, pause = milliseconds): void {
    if (stopping) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      const round: Promise<void> = step()
        .then(
          () => milliseconds,
          (error: unknown) => {
            options.onError(error);
            return afterError;
          },
        )
        .then((next) => {
          rounds.delete(round);
          every(milliseconds, afterError, step, next);
        });
      rounds.add(round);
    }, pause);
    timers.add(timer);
  }

  return {
    membership: member,
    async start() {
      await member.beat();
      await member.watch();
      every(BEAT_EVERY, BEAT_AGAIN, member.beat);
      every(WATCH_EVERY, BEAT_EVERY, member.watch);
    },
    async stop() {
      stopping = true;
      for (const timer of timers) clearTimeout(timer);
      await Promise.all(rounds);
      await member.leave();
    },
  };
}
