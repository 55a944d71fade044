/**
 * Gathers calls that arrive together into one statement. No timer: a lane takes what has gathered while its last batch
 * was away, so a lone call leaves at once and many calls share a round trip and a commit.
 *
 * A statement costs the server and this process as much as ten of the calls in it. So while one is under way, a further
 * lane leaves only with a larger batch, or with one that is worth it anyway: else many callers would end in many small
 * batches. Two callers still have a lane each.
 */
import { busy, isRetryable } from './errors.ts';

/** Outcome of a call that the batch could not serve: it joins the next one, ahead of the others. */
export const AGAIN = Symbol('again');

/** Memory held by calls that wait or are under way, shared by the gatherers of a store. */
export interface Budget {
  used: number;
  readonly limit: number;
}

/** What a call costs in memory beside its bytes, so that the budget bounds the number of calls too. */
const CALL_BYTES = 1024;
const MAX_ATTEMPTS = 4;
const WORTH_A_LANE = { calls: 32, bytes: 64 * 1024 };
/** How far a lane looks for calls that may join, past those whose key is taken. */
const LOOK_AHEAD = 4;

export interface GatherOptions<Call, Outcome> {
  readonly lanes: number;
  readonly budget: Budget;
  readonly maxCalls: number;
  /** The most weight of one batch, 1 per call unless told otherwise. */
  readonly maxWeight: number;
  readonly maxBytes: number;
  /** Calls with more bytes go alone. */
  readonly aloneBytes: number;
  weight?(call: Call): number;
  bytes?(call: Call): number;
  /** Calls with the same key never share a batch. */
  key?(call: Call): number | undefined;
  /** One atomic statement: an outcome for each call, or an error for all. */
  run(calls: readonly Call[], lane: number): Promise<readonly (Outcome | typeof AGAIN)[]>;
  /** Whether an error may be the fault of one of the calls. */
  isDataError(error: unknown): boolean;
}

export interface Gatherer<Call, Outcome> {
  submit(call: Call): Promise<Outcome>;
  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void>;
}

interface Entry<Call, Outcome> {
  readonly call: Call;
  readonly weight: number;
  readonly bytes: number;
  readonly key: number | undefined;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export function createGatherer<Call, Outcome>(options: GatherOptions<Call, Outcome>): Gatherer<Call, Outcome> {
  const { budget } = options;
  const waiting: Entry<Call, Outcome>[] = [];
  const freeLanes = Array.from({ length: options.lanes }, (_, lane) => options.lanes - 1 - lane);
  let onIdle: (() => void)[] = [];
  let scheduled = false;
  /** Calls under way. */
  let away = 0;
  let waitingBytes = 0;

  function submit(call: Call): Promise<Outcome> {
    const bytes = (options.bytes?.(call) ?? 0) + CALL_BYTES;
    if (budget.used > 0 && budget.used + bytes > budget.limit) {
      return Promise.reject(busy('too much waits for the database'));
    }
    budget.used += bytes;
    waitingBytes += bytes;
    return new Promise<Outcome>((resolve, reject) => {
      waiting.push({ call, weight: options.weight?.(call) ?? 1, bytes, key: options.key?.(call), resolve, reject });
      if (scheduled || freeLanes.length === 0) return;
      // The rest of this turn's requests may join the first batch.
      scheduled = true;
      setImmediate(() => {
        scheduled = false;
        dispatch();
      });
    });
  }

  function dispatch(): void {
    while (waiting.length > 0) {
      if (away > 0 && !isWorthALane()) return;
      const lane = freeLanes.pop();
      if (lane === undefined) return;
      const batch = take();
      away += batch.length;
      void serve(batch, lane).finally(() => {
        away -= batch.length;
        freeLanes.push(lane);
        dispatch();
      });
    }
    if (freeLanes.length < options.lanes) return;
    for (const resolve of onIdle) resolve();
    onIdle = [];
  }

  function isWorthALane(): boolean {
    const enough = Math.min(2 * away - 1, WORTH_A_LANE.calls, options.maxCalls);
    return waiting.length >= enough || waitingBytes >= WORTH_A_LANE.bytes;
  }

  function take(): Entry<Call, Outcome>[] {
    const batch: Entry<Call, Outcome>[] = [];
    const deferred: Entry<Call, Outcome>[] = [];
    const keys = new Set<number>();
    let weight = 0;
    let bytes = 0;
    let looked = 0;
    for (const entry of waiting) {
      if (batch.length === options.maxCalls || looked === options.maxCalls * LOOK_AHEAD) break;
      const alone = entry.bytes - CALL_BYTES > options.aloneBytes;
      const full = weight + entry.weight > options.maxWeight || bytes + entry.bytes > options.maxBytes;
      if (batch.length > 0 && (alone || full)) break;
      looked++;
      if (entry.key !== undefined && keys.has(entry.key)) {
        deferred.push(entry);
        continue;
      }
      batch.push(entry);
      if (entry.key !== undefined) keys.add(entry.key);
      weight += entry.weight;
      bytes += entry.bytes;
      if (alone) break;
    }
    waiting.splice(0, looked, ...deferred);
    waitingBytes -= bytes;
    return batch;
  }

  async function serve(batch: readonly Entry<Call, Outcome>[], lane: number): Promise<void> {
    try {
      settle(batch, await attempt(batch, lane));
    } catch (error) {
      if (batch.length > 1 && options.isDataError(error)) {
        // Nothing of the batch was stored. One of the calls is at fault: alone, it fails alone.
        for (const entry of batch) await serve([entry], lane);
        return;
      }
      for (const entry of batch) {
        budget.used -= entry.bytes;
        entry.reject(error);
      }
    }
  }

  async function attempt(batch: readonly Entry<Call, Outcome>[], lane: number) {
    const calls = batch.map((entry) => entry.call);
    for (let count = 1; ; count++) {
      try {
        return await options.run(calls, lane);
      } catch (error) {
        // The server itself has undone the statement; only then may it be sent again.
        if (!isRetryable(error)) throw error;
        if (count === MAX_ATTEMPTS) throw busy('too many changes of the same data at the same time');
      }
    }
  }

  function settle(batch: readonly Entry<Call, Outcome>[], outcomes: readonly (Outcome | typeof AGAIN)[]): void {
    const again: Entry<Call, Outcome>[] = [];
    for (const [index, entry] of batch.entries()) {
      const outcome = outcomes[index];
      if (outcome === AGAIN) {
        again.push(entry);
        waitingBytes += entry.bytes;
        continue;
      }
      budget.used -= entry.bytes;
      entry.resolve(outcome as Outcome);
    }
    waiting.unshift(...again);
  }

  return {
    submit,
    idle() {
      if (waiting.length === 0 && freeLanes.length === options.lanes) return Promise.resolve();
      return new Promise((resolve) => {
        onIdle.push(resolve);
      });
    },
  };
}
