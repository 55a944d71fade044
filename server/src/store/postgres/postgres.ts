/** The store on PostgreSQL, for one node or several. */
import { Problem } from '../../problems.ts';
import { createIdBlocks } from '../id-blocks.ts';
import { migrate, readSecret, reserveIds } from '../migrate.ts';
import type { Store, Tx } from '../store.ts';
import { createWaker } from '../waker.ts';
import { createClock } from './clock.ts';
import { postgresDialect } from './dialect.ts';
import { createFloors, type Floors } from './floors.ts';
import { createLink } from './link.ts';
import { createMessages } from './messages.ts';
import { COLD_PLANS } from './plans.ts';
import { createPool, type Pool } from './pool.ts';
import { checkServer, unreachable } from './server-check.ts';
import { startVacuum } from './vacuum.ts';
import { createWakeups, type Wakeups } from './wakeups.ts';

export interface PostgresOptions {
  readonly log?: (event: string, details?: object) => void;
  /** Sends notifications even while no other node is heard. */
  readonly notifyAlone?: boolean;
  /** The clock; tests turn it themselves. Without one it is the database's. */
  readonly now?: () => number;
}

const COLD_CONNECTIONS = 8;
const COLD_TIMEOUT = 10_000;
/** Nodes that start together wait for the one that migrates. */
const MIGRATION_TIMEOUT = 10 * 60_000;
/** Any number that nobody else uses in this database. */
const MIGRATION_LOCK = 7_236_155_301;
const CLOCK_INTERVAL = 5_000;

export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const log = options.log ?? (() => {});
  if (!/^postgres(?:ql)?:\/\//.test(url)) {
    throw new Problem(
      'bad-request',
      'the address of PostgreSQL must look like postgres://user:password@host:5432/name',
    );
  }
  await prepareDatabase(url, log);
  const pool = createPool(
    Array.from({ length: COLD_CONNECTIONS }, () =>
      createLink(url, { statementTimeout: COLD_TIMEOUT, parameters: COLD_PLANS }),
    ),
    postgresDialect,
  );
  const floors = createFloors();
  const messages = createMessages(url, pool, floors);
  const waker = createWaker();
  const wakeups: Wakeups = createWakeups({
    speaking: createLink(url, { statementTimeout: COLD_TIMEOUT }),
    listening: createLink(url, {
      statementTimeout: COLD_TIMEOUT,
      onNotify: (payload) => wakeups.heard(payload),
      onLost: () => wakeups.lost(),
    }),
    waker,
    floors,
    log,
    notifyAlone: options.notifyAlone ?? false,
  });
  const clock = createClock(() => pool.read(databaseTime));
  const clockTimer = setInterval(() => {
    // The offset measured last stays good while the database is away.
    clock.measure().catch((error) => log('clock-failed', { error }));
  }, CLOCK_INTERVAL);
  clockTimer.unref();
  const vacuum = startVacuum(
    createLink(url, { statementTimeout: 0 }),
    () => messages.traffic,
    (error) => log('vacuum-failed', { error }),
  );
  const close = async (): Promise<void> => {
    clearInterval(clockTimer);
    await Promise.all([messages.close(), vacuum.stop(), wakeups.stop()]);
    await pool.close();
  };

  try {
    const ids = await createIdBlocks(() => pool.transaction(reserveIds));
    const secret = await pool.read(readSecret);
    await clock.measure();
    await wakeups.start();
    return {
      engine: 'postgresql',
      dialect: postgresDialect,
      messages,
      now: options.now ?? clock.now,
      transaction: (job) => forgetting(pool, floors, job),
      read: pool.read,
      snapshot: pool.snapshot,
      nextId: ids.next,
      secret,
      announce: wakeups.announce,
      listen: waker.listen,
      async ping() {
        await pool.read((tx) => tx.get('SELECT 1'));
      },
      async close() {
        await ids.settled();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Checks the server and brings the schema up to date, under a lock that lets one node at a time do so. */
async function prepareDatabase(url: string, log: (event: string) => void): Promise<void> {
  const link = createLink(url, { statementTimeout: MIGRATION_TIMEOUT });
  const pool = createPool([link], postgresDialect);
  try {
    const warnings = await pool.read(checkServer).catch((error) => {
      throw error instanceof Problem && error.code === 'store-unavailable' ? unreachable(url, error) : error;
    });
    for (const warning of warnings) log(warning);
    await pool.transaction(async (tx) => {
      await tx.run('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
      await migrate(tx, 'postgresql');
    });
  } finally {
    await pool.close();
  }
}

/** A transaction that writes deliveries may make messages available anywhere in their queues. */
async function forgetting<T>(pool: Pool, floors: Floors, job: (tx: Tx) => Promise<T>): Promise<T> {
  let writes = false;
  const result = await pool.transaction((tx) =>
    job({
      dialect: tx.dialect,
      all: (text, values) => tx.all(note(text), values),
      get: (text, values) => tx.get(note(text), values),
      run: (text, values) => tx.run(note(text), values),
      finish: (text, values) => tx.finish(note(text), values),
    }),
  );
  if (writes) floors.forget();
  return result;

  function note(text: string): string {
    writes ||= /\b(?:INTO|UPDATE)\s+delivery\b/i.test(text);
    return text;
  }
}

async function databaseTime(tx: Tx): Promise<number> {
  const row = await tx.get<{ now: number }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now');
  return row?.now ?? Number.NaN;
}
