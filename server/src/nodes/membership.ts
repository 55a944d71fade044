/**
 * This node among those that share the database. While it lives it has a row in `node` with a lease that it renews; what
 * it owns (transactions, subscribers, duties) carries its id and is its own as long as that row is there.
 *
 * Who is dead is decided by one conditional write: whoever finds a lease over, by the store's clock, removes the row if it
 * was not renewed since. Only then is what the dead one owned free for others. So a node that could not renew in time,
 * because the database was away or it stood still, stops acting at once (by its own monotonic clock, a little before the
 * lease is over) and asks: if its row is still there, nobody took anything, and it goes on as the same node. If it is not,
 * it starts anew under a new id and owns nothing. Ids are never used again, so an old one fences off all that bears it.
 */
import { randomUUID } from 'node:crypto';
import { Problem } from '../problems.ts';
import type { Store } from '../store/store.ts';
import { bury, enter, listNodes, type NodeRow, nodesAt, type Place, remove, removeAll, renew } from './queries.ts';

/** A lease lasts this long. */
const LIFE = 6000;
export const BEAT_EVERY = 2000;
/** This node stops that much before others may begin: clocks are read, not shared. */
const MARGIN = 500;
/**
 * So long nothing must have been heard of a node, while this one could have heard it, before an end of its lease counts.
 * After an outage of the database all leases are over, and the first to come back must not bury the others; nor must
 * whoever is the first to notice that the database's clock was set. Silence for a whole lease counts whatever it shows.
 */
const SILENCE = 3000;

/** What areas know of the nodes. */
export interface Membership {
  /** The present name of this node. */
  readonly id: string;
  /** Whether it may act as the owner of what bears its id. */
  readonly isAlive: boolean;
  /** How many nodes are alive, this one included. */
  readonly count: number;
  /** Makes sure that this node is entered before something is given to it. Rejects when the store does not answer. */
  ensureAlive(): Promise<void>;
  /** Calls back when others held this node for dead: it has a new id by then, and owns nothing. */
  onLost(listener: () => void): void;
  /** Calls back when another node left or died: what it owned is free. */
  onGone(listener: () => void): void;
}

/** The node's own side of it: each a single step, so that tests can take them one by one. */
export interface Member extends Membership {
  /** Enters this node, or renews its lease. */
  beat(): Promise<void>;
  /** Looks for others that came, left or died. */
  watch(): Promise<void>;
  /** Gives up everything at once. Call it when nothing is under way any more. */
  leave(): Promise<void>;
}

export interface MemberOptions {
  readonly store: Store;
  /** Read when this node enters. */
  readonly place: () => Place;
  /** Whether a process of this machine, other than this one, is running under that number. */
  readonly isOtherRunning: (process: number) => boolean;
  /** The store is open to this process alone, so that whoever else is entered is dead. */
  readonly isAlone: boolean;
  /** Milliseconds by a clock that never goes back, whatever happens to that of the machine. */
  readonly monotonic?: () => number;
}

export function createMember(options: MemberOptions): Member {
  const { store, place, isOtherRunning, isAlone, monotonic = () => performance.now() } = options;
  let id: string = randomUUID();
  let hasEntered = false;
  let hasLeft = false;
  let aliveUntil = Number.NEGATIVE_INFINITY;
  let aliveSince = 0;
  let beating: Promise<void> | undefined;
  let count = 1;
  /** The others as they were seen last, and since when each has shown the same lease. */
  let others = new Map<string, { readonly until: number; readonly since: number }>();
  const lostListeners: (() => void)[] = [];
  const goneListeners: (() => void)[] = [];

  const isAlive = (): boolean => monotonic() < aliveUntil;

  async function sayAlive(): Promise<void> {
    if (hasLeft) throw new Problem('shutting-down', 'this node has left');
    // Counted from before the write, so that this node never thinks itself alive for longer than others do.
    const sent = monotonic();
    const until = store.now() + LIFE;
    const [before, fresh, here, isFirst] = [id, randomUUID(), place(), !hasEntered];
    const name = await store.transaction(async (tx) => {
      if (!isFirst && (await renew(tx, before, until))) return before;
      if (isFirst && isAlone) await removeAll(tx);
      // Whoever listened here before is dead, unless it is still being stopped: a port has one listener.
      for (const each of isFirst ? await nodesAt(tx, here.name) : []) {
        if (each.process !== null && !isOtherRunning(each.process)) await remove(tx, each.id);
      }
      await enter(tx, fresh, here, until);
      return fresh;
    });
    hasEntered = true;
    if (!isAlive()) aliveSince = monotonic();
    id = name;
    aliveUntil = sent + LIFE - MARGIN;
    if (name !== before && !isFirst) for (const listener of lostListeners) listener();
  }

  function beat(): Promise<void> {
    beating ??= sayAlive().finally(() => {
      beating = undefined;
    });
    return beating;
  }

  /** Removes those whose lease is over and of whom nothing was heard; gives the ids of those removed by this node. */
  async function buryDead(rows: readonly NodeRow[], now: number): Promise<Set<string>> {
    const silenceOf = ({ id: other }: NodeRow): number =>
      monotonic() - Math.max(others.get(other)?.since ?? monotonic(), aliveSince);
    const dead = rows.filter((row) => row.id !== id && silenceOf(row) >= (row.until <= now ? SILENCE : LIFE));
    if (dead.length === 0 || !isAlive()) return new Set();
    return store.transaction(async (tx) => {
      const buried = new Set<string>();
      for (const row of dead) if (await bury(tx, row)) buried.add(row.id);
      return buried;
    });
  }

  return {
    get id() {
      return id;
    },
    get isAlive() {
      return isAlive();
    },
    get count() {
      return count;
    },
    async ensureAlive() {
      if (!isAlive()) await beat();
    },
    onLost: (listener) => void lostListeners.push(listener),
    onGone: (listener) => void goneListeners.push(listener),
    beat,
    async watch() {
      if (isAlone) return;
      const rows = await store.read(listNodes);
      const now = store.now();
      const seenAt = monotonic();
      const known = others;
      others = new Map(
        rows.map(({ id: other, until }) => {
          const last = known.get(other);
          return [other, { until, since: last?.until === until ? last.since : seenAt }];
        }),
      );
      count = Math.max(1, rows.filter(({ id: other, until }) => other === id || until > now).length);
      const buried = await buryDead(rows, now);
      for (const each of buried) others.delete(each);
      const wentBy = [...known.keys()].some((other) => !others.has(other));
      if (wentBy || buried.size > 0) for (const listener of goneListeners) listener();
    },
    async leave() {
      hasLeft = true;
      aliveUntil = Number.NEGATIVE_INFINITY;
      await beating?.catch(() => {});
      aliveUntil = Number.NEGATIVE_INFINITY;
      const name = id;
      if (hasEntered) await store.transaction((tx) => remove(tx, name));
    },
  };
}
