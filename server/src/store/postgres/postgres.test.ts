/** What is special to PostgreSQL: several nodes, a server that goes away, notifications, and one poisoned call. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type FreshDatabase, freshDatabase } from '../../../../testing/databases.ts';
import { eventually } from '../../../../testing/eventually.ts';
import { startCluster, withConnection } from '../../../../testing/postgres.ts';
import { Problem } from '../../problems.ts';
import { SCHEMA_VERSION } from '../migrate.ts';
import { storeCases } from '../store.cases.ts';
import type { NewMessage, News, Store } from '../store.ts';
import { createLink } from './link.ts';
import { openPostgres } from './postgres.ts';
import { vacuumNarrowTables } from './vacuum.ts';

storeCases('PostgreSQL', async () => {
  const database = await freshDatabase();
  let store = await openPostgres(database.url);
  return {
    store,
    async reopen() {
      await store.close();
      store = await openPostgres(database.url);
      return store;
    },
    async close() {
      await store.close();
      await database.drop();
    },
  };
});

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

async function createQueue(store: Store): Promise<number> {
  const id = store.nextId();
  await store.transaction((tx) =>
    tx.run(
      `INSERT INTO destination (id, kind, name, settings, version, created) VALUES ($1, 'queue', $2, '{}', 1, 0)`,
      [id, `queue-${id}`],
    ),
  );
  return id;
}

function message(store: Store, more: Partial<NewMessage> = {}): NewMessage {
  return {
    id: store.nextId() * 2,
    contentType: 'text/plain',
    headers: '[]',
    body: Buffer.from('hello'),
    rank: 5,
    expires: null,
    delayedUntil: null,
    ...more,
  };
}

const post = (store: Store, destination: number, ...messages: NewMessage[]) =>
  store.messages.post({ destination, kind: 'queue', posted: 1, messages });

const claim = (store: Store, destination: number, max = 1) =>
  store.messages.claim({
    destination,
    max,
    maxBytes: 1_000_000,
    mode: 'consume',
    due: 1,
    token: store.nextId(),
    now: 1,
  });

const isUnavailable = (error: unknown): boolean => error instanceof Problem && error.code === 'store-unavailable';

describe('several nodes on one database', { timeout: 120_000 }, () => {
  let database: FreshDatabase;
  const stores: Store[] = [];
  before(async () => {
    database = await freshDatabase();
  });
  after(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await database.drop();
  });

  it('migrate it once when they start together', async () => {
    stores.push(...(await Promise.all(range(8).map(() => openPostgres(database.url)))));
    const [first] = stores as [Store];
    for (const store of stores) assert.ok(store.secret.equals(first.secret));
    const rows = await first.read((tx) => tx.all(`SELECT number FROM meta WHERE name = 'schema'`));
    assert.deepEqual(rows, [{ number: SCHEMA_VERSION }]);
    const ids = stores.flatMap((store) => range(50).map(() => store.nextId()));
    assert.equal(new Set(ids).size, ids.length);
    await Promise.all(stores.splice(2).map((store) => store.close()));
  });

  it('hear what the other announces, but not themselves twice', async () => {
    const [one, two] = stores as [Store, Store];
    const heard: Record<'one' | 'two', News[]> = { one: [], two: [] };
    one.listen((news) => heard.one.push(news));
    two.listen((news) => heard.two.push(news));
    const many = range(3_000).map((index) => 1_000_000_000 + index);
    one.announce({ arrived: new Map([[7, 3]]), changed: [8] });
    one.announce({ arrived: new Map([[7, 2]]), changed: many });
    two.announce({ changed: [9] });
    const arrived = () => heard.two.reduce((sum, news) => sum + (news.arrived?.get(7) ?? 0), 0);
    const changed = (list: News[]) => new Set(list.flatMap((news) => news.changed ?? []));
    await eventually('two hears one', () => arrived() === 5 && changed(heard.two).size === 3_002);
    await eventually('one hears two', () => changed(heard.one).has(9));
    assert.equal(heard.one.filter((news) => news.changed?.includes(8)).length, 1);
  });

  it('give each message to one claimer', async () => {
    const [one] = stores as [Store];
    const queue = await createQueue(one);
    await Promise.all(range(100).map(() => post(one, queue, ...range(10).map(() => message(one)))));
    const taken: number[] = [];
    await Promise.all(
      range(16).map(async (index) => {
        const store = stores[index % 2] as Store;
        // A node passes over rows that the other is about to take: only the count tells that all are out.
        for (let empty = 0; taken.length < 1_000 && empty < 1_000; ) {
          const claimed = await claim(store, queue, 1 + (index % 5));
          taken.push(...claimed.map(({ id }) => id));
          empty = claimed.length === 0 ? empty + 1 : 0;
        }
      }),
    );
    assert.equal(taken.length, 1_000);
    assert.equal(new Set(taken).size, 1_000);
  });

  it('find a message that another node posted below what they claimed last', async () => {
    const [one, two] = stores as [Store, Store];
    const queue = await createQueue(one);
    await post(one, queue, message(one), message(one));
    assert.equal((await claim(two, queue)).length, 1);
    const urgent = message(one, { rank: 0 });
    await post(one, queue, urgent);
    const heard = new Promise<void>((resolve) => {
      two.listen((news) => {
        if (news.arrived?.has(queue)) resolve();
      });
    });
    one.announce({ arrived: new Map([[queue, 1]]) });
    await heard;
    assert.deepEqual(
      (await claim(two, queue)).map(({ id }) => id),
      [urgent.id],
    );
  });

  it('look at everything when notifications may have been lost', async () => {
    const [, two] = stores as [Store, Store];
    const told = new Promise<void>((resolve) => {
      two.listen((news) => {
        if (news.everything) resolve();
      });
    });
    const ended = await withConnection(database.url, (query) =>
      query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
      ),
    );
    assert.equal(ended.length, 2);
    await told;
  });
});

describe('a call that cannot be stored', { timeout: 60_000 }, () => {
  it('fails alone in its batch', async () => {
    const database = await freshDatabase();
    const store = await openPostgres(database.url);
    const queue = await createQueue(store);
    const results = await Promise.allSettled(
      range(50).map((index) => post(store, queue, message(store, index % 20 === 7 ? { contentType: 'a\0b' } : {}))),
    );
    for (const [index, result] of results.entries()) {
      assert.equal(result.status, index % 20 === 7 ? 'rejected' : 'fulfilled', `post ${index}`);
    }
    assert.equal((await claim(store, queue, 100)).length, 47);
    await store.close();
    await database.drop();
  });
});

describe('a transaction', { timeout: 60_000 }, () => {
  let database: FreshDatabase;
  let store: Store;
  before(async () => {
    database = await freshDatabase();
    store = await openPostgres(database.url);
  });
  after(async () => {
    await store.close();
    await database.drop();
  });

  it('is not committed in silence when the job has swallowed an error', async () => {
    const job = store.transaction(async (tx) => {
      await tx.run('INSERT INTO once_chain (chain, n, expires) VALUES (1, 1, 1)');
      await tx.run('SELECT 1 / 0').catch(() => {});
      return 'fine';
    });
    await assert.rejects(job, /division by zero/);
    assert.equal(await store.read((tx) => tx.get('SELECT n FROM once_chain WHERE chain = 1')), undefined);
  });

  it('is run again after a deadlock', async () => {
    await store.transaction((tx) => tx.run('INSERT INTO once_chain (chain, n, expires) VALUES (10, 0, 1), (11, 0, 1)'));
    let runs = 0;
    let arrived = 0;
    let open: () => void = () => {};
    const bothHoldOne = new Promise<void>((resolve) => {
      open = resolve;
    });
    const cross = (chains: [number, number]) =>
      store.transaction(async (tx) => {
        runs++;
        await tx.run('UPDATE once_chain SET n = n + 1 WHERE chain = $1', [chains[0]]);
        if (++arrived === 2) open();
        await bothHoldOne;
        await tx.run('UPDATE once_chain SET n = n + 1 WHERE chain = $1', [chains[1]]);
      });
    await Promise.all([cross([10, 11]), cross([11, 10])]);
    // On a busy machine the second try may meet the other one again.
    assert.ok(runs >= 3, `${runs} runs`);
    const rows = await store.read((tx) => tx.all('SELECT n FROM once_chain WHERE chain IN (10, 11)'));
    assert.deepEqual(rows, [{ n: 2 }, { n: 2 }]);
  });

  it('fails as a whole when its connection is lost between two statements', async () => {
    const job = store.transaction(async (tx) => {
      await tx.run('INSERT INTO once_chain (chain, n, expires) VALUES (20, 1, 1)');
      const row = await tx.get<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await withConnection(database.url, (query) => query(`SELECT pg_terminate_backend(${row?.pid}, 5000)`));
      // The rest must not run on the next connection, outside of the transaction.
      await tx.run('INSERT INTO once_chain (chain, n, expires) VALUES (21, 1, 1)');
    });
    await assert.rejects(job, isUnavailable);
    assert.deepEqual(await store.read((tx) => tx.all('SELECT n FROM once_chain WHERE chain IN (20, 21)')), []);
  });

  it('is refused by a server that is read-only, as during a failover', async () => {
    const job = store.transaction(async (tx) => {
      await tx.run('SET LOCAL transaction_read_only = on');
      await tx.run('INSERT INTO once_chain (chain, n, expires) VALUES (30, 1, 1)');
    });
    await assert.rejects(job, isUnavailable);
  });
});

describe('the vacuum', { timeout: 60_000 }, () => {
  it('cleans the narrow tables', async () => {
    const database = await freshDatabase();
    const store = await openPostgres(database.url);
    const link = createLink(database.url, { statementTimeout: 0 });
    await vacuumNarrowTables(link);
    const count = () =>
      store.read((tx) =>
        tx.get<{ count: number }>(
          `SELECT count(*) FROM pg_stat_user_tables WHERE vacuum_count > 0
           AND relname IN ('delivery_durable', 'delivery_volatile', 'topic_position', 'once_chain')`,
        ),
      );
    await eventually('the counters', async () => (await count())?.count === 4);
    await link.close();
    await store.close();
    await database.drop();
  });
});

describe('a server that cannot be used', { timeout: 60_000 }, () => {
  it('is named in one line, without the password', async () => {
    const database = await freshDatabase();
    const away = new URL(database.url);
    away.port = '9';
    await assert.rejects(openPostgres(away.href), (error) => {
      assert.ok(isUnavailable(error) && error instanceof Error);
      assert.match(error.message, /^cannot use PostgreSQL at 127\.0\.0\.1:9\/waypost_\w+: .*ECONNREFUSED/);
      assert.ok(!error.message.includes(away.password) && !error.message.includes('\n'));
      return true;
    });
    const stranger = new URL(database.url);
    stranger.password = 'wrong';
    await assert.rejects(openPostgres(stranger.href), /password authentication failed/);
    await assert.rejects(openPostgres('mysql://127.0.0.1/x'), /must look like postgres:/);
    await database.drop();
  });

  it('may have a newer schema', async () => {
    const database = await freshDatabase();
    await (await openPostgres(database.url)).close();
    await withConnection(database.url, (query) => query(`UPDATE meta SET number = 99 WHERE name = 'schema'`));
    await assert.rejects(openPostgres(database.url), /schema version 99/);
    await database.drop();
  });

  it('may be set to another isolation, which sessions do not take, but not by the address', async () => {
    const database = await freshDatabase();
    const name = new URL(database.url).pathname.slice(1);
    const isolation = `ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`;
    await withConnection(database.url, (query) => query(isolation));
    const store = await openPostgres(database.url);
    const text = `SELECT current_setting('transaction_isolation') AS level`;
    const levels = await Promise.all(
      [store.read, store.transaction, store.snapshot].map((run) => run((tx) => tx.get<{ level: string }>(text))),
    );
    assert.deepEqual(
      levels.map((row) => row?.level),
      ['read committed', 'read committed', 'repeatable read'],
    );
    await store.close();
    const asked = new URL(database.url);
    asked.searchParams.set('default_transaction_isolation', 'serializable');
    await assert.rejects(openPostgres(asked.href), /asks for transactions that are serializable/);
    await database.drop();
  });
});

describe('a server that goes away', { timeout: 120_000 }, () => {
  for (const mode of ['fast', 'immediate'] as const) {
    it(`costs what was in flight, and the store works again after a restart (${mode})`, async () => {
      const cluster = await startCluster();
      const url = await cluster.createDatabase();
      const store = await openPostgres(url);
      try {
        const queue = await createQueue(store);
        let away = false;
        let over = false;
        const answered: number[] = [];
        const unsure = new Set<number>();
        let slowest = 0;
        const posters = range(16).map(async () => {
          while (!over) {
            const each = message(store);
            const began = performance.now();
            try {
              assert.equal(await post(store, queue, each), 'stored');
              answered.push(each.id);
            } catch (error) {
              assert.ok(isUnavailable(error), String(error));
              unsure.add(each.id);
            }
            if (away) slowest = Math.max(slowest, performance.now() - began);
            await new Promise(setImmediate);
          }
        });
        await eventually('traffic', () => answered.length > 200);
        await cluster.shutDown(mode);
        away = true;
        await assert.rejects(
          store.transaction((tx) => tx.run('SELECT 1')),
          isUnavailable,
        );
        await assert.rejects(store.ping(), isUnavailable);
        await eventually('refusals', () => unsure.size > 50);
        away = false;
        await cluster.startUp();
        const before = answered.length;
        await eventually('traffic again', () => answered.length > before + 100);
        over = true;
        await Promise.all(posters);
        await eventually('a ping', () =>
          store.ping().then(
            () => true,
            () => false,
          ),
        );
        assert.ok(slowest < 5_000, `a request waited ${slowest} ms while the server was away`);
        const rows = await store.read((tx) => tx.all<{ id: number }>('SELECT id FROM message'));
        const there = new Set(rows.map(({ id }) => id));
        for (const id of answered) assert.ok(there.has(id), `message ${id} was answered and is gone`);
        const known = new Set(answered);
        for (const id of there) assert.ok(known.has(id) || unsure.has(id));
      } finally {
        await store.close();
        await cluster.stop();
      }
    });
  }
});
