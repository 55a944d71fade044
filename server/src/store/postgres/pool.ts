/** The connections of the cold paths: transactions and reads, each on one connection at a time. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Dialect } from '../dialect.ts';
import type { Row, Tx } from '../store.ts';
import { busy, connectionLost, isRetryable } from './errors.ts';
import type { Link, Statement } from './link.ts';

const MAX_WAITING = 5_000;
const LONGEST_WAIT = 5_000;
const MAX_ATTEMPTS = 10;

export interface Pool {
  transaction<T>(job: (tx: Tx) => Promise<T>): Promise<T>;
  snapshot<T>(job: (tx: Tx) => Promise<T>): Promise<T>;
  read<T>(job: (tx: Tx) => Promise<T>): Promise<T>;
  /** Waits for what is under way, then closes the connections. */
  close(): Promise<void>;
}

interface Waiter {
  readonly take: (link: Link) => void;
  readonly refuse: (error: unknown) => void;
}

export function createPool(links: readonly Link[], dialect: Dialect): Pool {
  const idle = [...links];
  const waiting = new Set<Waiter>();
  let closing = false;
  const running = new Set<Promise<unknown>>();

  function acquire(): Promise<Link> {
    if (closing) return Promise.reject(connectionLost());
    const link = idle.pop();
    if (link !== undefined) return Promise.resolve(link);
    if (waiting.size >= MAX_WAITING) return Promise.reject(busy('too many requests wait for the database'));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        take(taken) {
          leave();
          resolve(taken);
        },
        refuse(error) {
          leave();
          reject(error);
        },
      };
      const timer = setTimeout(() => waiter.refuse(busy('the database has no connection free')), LONGEST_WAIT);
      const leave = (): void => {
        clearTimeout(timer);
        waiting.delete(waiter);
      };
      waiting.add(waiter);
    });
  }

  function release(link: Link): void {
    const [next] = waiting;
    if (next !== undefined) next.take(link);
    else idle.push(link);
  }

  async function use<T>(job: (link: Link) => Promise<T>): Promise<T> {
    const link = await acquire();
    try {
      return await job(link);
    } catch (error) {
      // The server cannot be reached at all: those who wait would only find out one after the other.
      if (link.unreachable) for (const waiter of [...waiting]) waiter.refuse(error);
      throw error;
    } finally {
      release(link);
    }
  }

  function tracked<T>(work: Promise<T>): Promise<T> {
    running.add(work);
    const forget = (): void => {
      running.delete(work);
    };
    work.then(forget, forget);
    return work;
  }

  return {
    transaction: (job) => tracked(repeated(() => use((link) => runOnce(link, dialect, job)))),
    snapshot: (job) => tracked(use((link) => runOnce(link, dialect, job, SNAPSHOT))),
    read: (job) =>
      tracked(
        use(async (link) => {
          const tx = createTx(link, dialect);
          try {
            return await job(tx);
          } finally {
            tx.end();
          }
        }),
      ),
    async close() {
      closing = true;
      await Promise.allSettled(running);
      await Promise.all(links.map((link) => link.close()));
    },
  };
}

/** Jobs are pure, so one that lost against another is simply run again; a short random pause parts the two. */
async function repeated<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isRetryable(error)) throw error;
      if (count === MAX_ATTEMPTS) throw busy('too many changes of the same data at the same time');
      await pause(Math.random() * 5 * count);
    }
  }
}

const SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

async function runOnce<T>(link: Link, dialect: Dialect, job: (tx: Tx) => Promise<T>, begin = 'BEGIN'): Promise<T> {
  // Not that of the link: the connection may be lost by the time this goes on, and the rest would run on a new one.
  const { life } = await link.query(begin);
  const tx = createTx(link, dialect, life);
  try {
    const result = await job(tx);
    tx.end();
    const { command } = await link.together([...tx.lastStatements(), { text: 'COMMIT' }], life);
    // A job may have caught the error of a statement, but the server has given up the whole transaction.
    if (command !== 'COMMIT') throw tx.failure() ?? new Error(`the commit was answered by ${command}`);
    return result;
  } catch (error) {
    tx.end();
    if (link.life === life) await link.query('ROLLBACK', [], life).catch(() => link.drop());
    const failure = tx.failure();
    throw isRetryable(failure) ? failure : error;
  }
}

interface EndableTx extends Tx {
  end(): void;
  /** The first error of a statement. */
  failure(): unknown;
  /** What is to be sent with the commit. */
  lastStatements(): readonly Statement[];
}

function createTx(link: Link, dialect: Dialect, life?: number): EndableTx {
  let ended = false;
  let failure: unknown;
  const lastStatements: Statement[] = [];
  const query = async (text: string, values: Parameters<Link['query']>[1]) => {
    if (ended || lastStatements.length > 0) throw new Error('the transaction is over');
    try {
      return await link.query(text, values, life);
    } catch (error) {
      failure ??= error;
      throw error;
    }
  };
  return {
    dialect,
    async all<R = Row>(text: string, values?: Parameters<Link['query']>[1]) {
      return (await query(text, values)).rows as R[];
    },
    async get<R = Row>(text: string, values?: Parameters<Link['query']>[1]) {
      return (await query(text, values)).rows[0] as R | undefined;
    },
    async run(text, values) {
      return (await query(text, values)).count;
    },
    async finish(text, values = []) {
      if (ended || lastStatements.length > 0) throw new Error('the transaction is over');
      lastStatements.push({ text, values });
    },
    end() {
      ended = true;
    },
    failure: () => failure,
    lastStatements: () => lastStatements,
  };
}
