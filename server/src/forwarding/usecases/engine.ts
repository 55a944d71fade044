/**
 * Serves the subscribers of this node. A runner's loop runs only while there is something to send; work is found by the
 * announcements of arrivals and by one look a second over all subscribers together, so that ten thousand of them cost
 * neither timers nor queries of their own.
 */
import { destinationsById } from '../../messaging/queries/destinations.ts';
import { withReadyMessages } from '../../messaging/queries/messages.ts';
import { lastPositions } from '../../messaging/queries/topics.ts';
import type { Membership } from '../../nodes/membership.ts';
import type { News, Store } from '../../store/store.ts';
import type { Attempt } from '../attempts.ts';
import { handOver, readAttemptsOf, readOwned, takeAttention, writeAttempts } from '../queries/serving.ts';
import { DISABLED, type Subscriber } from '../subscriber.ts';
import type { Pipeline, StepOutcome } from './pipeline.ts';
import type { Roster } from './roster.ts';
import { createRunner, Interrupted, type Runner, resetRunner } from './runner.ts';
import type { Share } from './share.ts';

export interface Engine {
  /** Serves a subscriber that is this node's now. */
  adopt(subscriber: Subscriber): Promise<void>;
  /** Notices what was changed from outside, now rather than at the next look. Resolves when it has been noticed. */
  notice(): Promise<void>;
  /** The last attempts, as far as this node made them. */
  attemptsOf(id: number): readonly Attempt[] | undefined;
  /** Serves what no living node serves, finds work that was not announced, writes attempts. Called once a second. */
  look(): Promise<void>;
  /** Runs those whose time has come. */
  runDue(): void;
  /** Stops serving, whatever is under way: nothing is this node's any more. */
  abandon(): void;
  /** Lets what is under way end, for a while. */
  stop(milliseconds: number): Promise<void>;
}

export interface EngineParts {
  readonly store: Store;
  readonly node: Pick<Membership, 'id' | 'isAlive'>;
  readonly roster: Roster;
  readonly share: Share;
  readonly pipeline: Pipeline;
  readonly pathOf: (url: string) => string | undefined;
  /** Breaks off all calls under way. */
  readonly breakOff: () => void;
  readonly onError: (error: unknown) => void;
}

const AFTER_ERROR = 1000;
const AFTER_INTERRUPTION = 100;
const LOGS_AT_ONCE = 128;
/** Subscribers of one queue that are woken for messages nobody announced. */
const WOKEN_AT_ONCE = 16;
const NONE: ReadonlyMap<number, number> = new Map();

export function createEngine(parts: EngineParts): Engine {
  const { store, node, roster, share, pipeline } = parts;
  const waiting = new Set<Runner>();
  const loops = new Set<Promise<void>>();
  /** Attempts of runners that left, until they are written. */
  const farewells = new Map<number, readonly Attempt[]>();
  const changedDestinations = new Set<number>();
  let stopped = false;
  /** A look at what clients changed: the one under way, and the one that begins when it is over. */
  let noticing: Promise<void> | undefined;
  let noticingNext: Promise<void> | undefined;

  function kick(runner: Runner): void {
    if (stopped) return;
    runner.woken = true;
    if (runner.running) return;
    const loop: Promise<void> = run(runner).finally(() => loops.delete(loop));
    loops.add(loop);
  }

  /** Runs until there is nothing more to do. */
  async function run(runner: Runner): Promise<void> {
    runner.running = true;
    waiting.delete(runner);
    try {
      while (!stopped && roster.get(runner.id) === runner) {
        runner.woken = false;
        const outcome = await advance(runner);
        if (outcome === 'over' && !runner.woken) leave(runner);
        // Something came while it was let go; it may have been given back to this node, whose it is the store tells.
        else if (outcome === 'over') runner.stale = true;
        else if (outcome === 'idle' && !runner.woken) break;
      }
    } catch (error) {
      runner.stale = true;
      const isInterrupted = error instanceof Interrupted;
      if (!isInterrupted) parts.onError(error);
      runner.wakeAt = store.now() + (isInterrupted ? AFTER_INTERRUPTION : AFTER_ERROR);
    } finally {
      runner.running = false;
    }
    if (roster.get(runner.id) === runner && runner.wakeAt !== undefined) waiting.add(runner);
  }

  function leave(runner: Runner): void {
    if (!roster.remove(runner)) return;
    waiting.delete(runner);
    if (runner.unwritten) farewells.set(runner.id, runner.attempts);
  }

  async function advance(runner: Runner): Promise<StepOutcome> {
    if (!node.isAlive) throw new Interrupted('this node is not known to be alive');
    if (runner.stale && !(await reload(runner))) return 'over';
    if (runner.stop) {
      await pipeline.letGo(runner);
      return 'over';
    }
    if (runner.handOver) {
      await pipeline.note(runner);
      const owner = node.id;
      await store.transaction((tx) => handOver(tx, owner, runner.id));
      return 'over';
    }
    if (changedDestinations.has(runner.destination.id) && !(await refresh(runner.destination.id))) return 'over';
    return pipeline.step(runner, parts.pathOf);
  }

  /** False when it is not this node's any more. */
  async function reload(runner: Runner): Promise<boolean> {
    await runner.noting;
    const owner = node.id;
    const found = await store.read((tx) => readOwned(tx, owner, runner.id));
    if (found === undefined) return false;
    resetRunner(runner, found);
    runner.stop = found.state >= DISABLED;
    return true;
  }

  /** Reads a destination again whose settings may have changed. False when it is gone. */
  async function refresh(id: number): Promise<boolean> {
    changedDestinations.delete(id);
    const found = (await store.read((tx) => destinationsById(tx, [id]))).get(id);
    if (found === undefined) changedDestinations.add(id);
    else for (const runner of roster.of(id)) runner.destination = found;
    return found !== undefined;
  }

  async function adoptAll(subscribers: readonly Subscriber[]): Promise<void> {
    const fresh = subscribers.filter(({ id }) => roster.get(id) === undefined);
    if (fresh.length === 0) return;
    const { destinations, attempts } = await store.read(async (tx) => ({
      destinations: await destinationsById(tx, [...new Set(fresh.map(({ destination }) => destination))]),
      attempts: await readAttemptsOf(
        tx,
        fresh.map(({ id }) => id),
      ),
    }));
    for (const subscriber of fresh) {
      const destination = destinations.get(subscriber.destination);
      // Those of a deleted destination are swept away with it.
      if (destination === undefined || roster.get(subscriber.id) !== undefined) continue;
      const runner = createRunner(
        subscriber,
        destination,
        farewells.get(subscriber.id) ?? attempts.get(subscriber.id) ?? [],
      );
      runner.stop = subscriber.state >= DISABLED;
      roster.add(runner);
      kick(runner);
    }
  }

  /** Applies what clients changed, here or through another node. */
  async function noticeChanges(): Promise<void> {
    const owner = node.id;
    const changed = await store.transaction((tx) => takeAttention(tx, owner));
    for (const row of changed) {
      const runner = roster.get(row.id);
      if (runner === undefined) continue;
      runner.stop = row.state >= DISABLED;
      if (runner.stop) runner.subscriber.state = row.state;
      if (row.epoch !== runner.subscriber.epoch) runner.stale = true;
      runner.subscriber.secret = row.secret;
      if (!runner.running) runner.subscriber.nextTry = row.nextTry;
      kick(runner);
    }
    await adoptAll(changed);
  }

  /**
   * A look that began before a change may have missed it, so another one follows: one for all who came meanwhile, since
   * a hundred that are enabled together would otherwise wait for a hundred looks in a row.
   */
  function notice(): Promise<void> {
    if (noticing === undefined) return beginNoticing();
    noticingNext ??= noticing.then(beginNoticing, beginNoticing);
    return noticingNext;
  }

  function beginNoticing(): Promise<void> {
    noticingNext = undefined;
    const begun: Promise<void> = noticeChanges().finally(() => {
      // With another one waiting it stays, so that nobody begins a third beside it.
      if (noticingNext === undefined) noticing = undefined;
    });
    noticing = begun;
    return begun;
  }

  async function findWork(): Promise<void> {
    const queues = roster.idleDestinations('queue');
    const topics = roster.idleDestinations('topic');
    if (queues.length + topics.length === 0) return;
    const { ready, positions } = await store.read(async (tx) => ({
      ready: queues.length === 0 ? NONE : await withReadyMessages(tx, queues, WOKEN_AT_ONCE),
      positions: topics.length === 0 ? NONE : await lastPositions(tx, topics),
    }));
    for (const [queue, count] of ready) for (const runner of roster.idleOf(queue, count)) kick(runner);
    for (const [topic, last] of positions) {
      for (const runner of roster.of(topic)) {
        if (!runner.running && runner.wakeAt === undefined && runner.subscriber.position < last) kick(runner);
      }
    }
  }

  async function writeLogs(): Promise<void> {
    // By id: one that left and came back is written once, as it is now.
    const unwritten = new Map(farewells);
    farewells.clear();
    for (const runner of roster.all()) {
      if (!runner.unwritten) continue;
      runner.unwritten = false;
      unwritten.set(runner.id, runner.attempts);
    }
    const logs = [...unwritten];
    for (let from = 0; from < logs.length; from += LOGS_AT_ONCE) {
      const piece = logs
        .slice(from, from + LOGS_AT_ONCE)
        .map(([id, attempts]) => [id, JSON.stringify(attempts)] as const);
      await store.transaction((tx) => writeAttempts(tx, piece));
    }
  }

  store.listen(({ arrived, changed, everything }: News) => {
    if (stopped) return;
    for (const [destination, count] of arrived ?? []) {
      const runners = roster.of(destination);
      const [first] = runners;
      if (first === undefined) continue;
      if (first.subscriber.kind === 'topic') for (const runner of runners) kick(runner);
      else for (const runner of roster.idleOf(destination, count)) kick(runner);
    }
    let isOurs = everything === true;
    for (const destination of changed ?? []) {
      if (roster.of(destination).size === 0) continue;
      changedDestinations.add(destination);
      isOurs = true;
    }
    if (isOurs) notice().catch(parts.onError);
  });

  return {
    adopt: (subscriber) => adoptAll([subscriber]),
    notice,
    attemptsOf: (id) => roster.get(id)?.attempts ?? farewells.get(id),
    async look() {
      if (!node.isAlive || stopped) return;
      await notice();
      await adoptAll(await share.take());
      for (const runner of share.surplus()) {
        runner.handOver = true;
        kick(runner);
      }
      await findWork();
      await writeLogs();
    },
    runDue() {
      if (waiting.size === 0) return;
      const now = store.now();
      for (const runner of waiting) {
        if (runner.wakeAt === undefined || runner.wakeAt > now) continue;
        runner.wakeAt = undefined;
        kick(runner);
      }
    },
    abandon() {
      parts.breakOff();
      waiting.clear();
      for (const runner of roster.clear()) if (runner.unwritten) farewells.set(runner.id, runner.attempts);
    },
    async stop(milliseconds) {
      stopped = true;
      const cut = setTimeout(parts.breakOff, milliseconds);
      await Promise.all(loops);
      clearTimeout(cut);
      // What is forwarded and not noted would be forwarded again by whoever comes next.
      await Promise.allSettled([...roster.all()].filter(({ forwarded }) => forwarded > 0).map(pipeline.note));
      await Promise.allSettled([noticing, noticingNext]);
      await writeLogs();
    },
  };
}
