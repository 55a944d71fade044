import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type FreshDatabase, freshDatabase } from '../../../../testing/databases.ts';
import { eventually } from '../../../../testing/eventually.ts';
import { temporaryFolder } from '../../../../testing/folders.ts';
import { type Query, withConnection } from '../../../../testing/postgres.ts';
import { Problem } from '../../problems.ts';
import type { SqlValue } from '../store.ts';
import { createWaker } from '../waker.ts';
import { postgresDialect } from './dialect.ts';
import { createFloors } from './floors.ts';
import { createLink, type Link, type LinkSettings } from './link.ts';
import { createPool } from './pool.ts';
import { CERTIFICATE, KEY, type Relay, startRelay } from './relay.fixtures.ts';
import { createWakeups } from './wakeups.ts';

const isUnavailable = (error: unknown): boolean => error instanceof Problem && error.code === 'store-unavailable';
const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

describe('a link', { timeout: 120_000 }, () => {
  let database: FreshDatabase;
  const links: Link[] = [];
  const relays: Relay[] = [];
  before(async () => {
    database = await freshDatabase();
    await direct((query) => query('CREATE TABLE noted (n int PRIMARY KEY)'));
  });
  after(async () => {
    await Promise.all(links.map((link) => link.close()));
    await Promise.all(relays.map((relay) => relay.close()));
    await database.drop();
  });

  const direct = <T>(work: (query: Query) => Promise<T>): Promise<T> => withConnection(database.url, work);
  const noted = async (): Promise<unknown[]> =>
    (await direct((query) => query<{ n: number }>('SELECT n FROM noted ORDER BY n'))).map(({ n }) => n);

  function link(settings: Partial<LinkSettings> = {}, url = database.url): Link {
    const made = createLink(url, { statementTimeout: 10_000, ...settings });
    links.push(made);
    return made;
  }

  async function relayed(options: Parameters<typeof startRelay>[1] = {}): Promise<Relay> {
    const relay = await startRelay(database.url, options);
    relays.push(relay);
    return relay;
  }

  async function one(text: string, values: readonly SqlValue[] = []): Promise<unknown> {
    const { rows } = await (links[0] ?? link()).query(`SELECT ${text} AS value`, values);
    return rows[0]?.value;
  }

  describe('gives values', () => {
    const RESULTS: [string, unknown][] = [
      ['32767::smallint', 32_767],
      ['(-2147483648)::int', -2_147_483_648],
      ['9007199254740991::bigint', Number.MAX_SAFE_INTEGER],
      ['1.5::double precision', 1.5],
      ['1.5::real', 1.5],
      ['sum(n) FROM (VALUES (9007199254740000::bigint), (991)) AS t (n)', Number.MAX_SAFE_INTEGER],
      ['true', true],
      ['false', false],
      ["'ü \\ ''\"'::text", 'ü \\ \'"'],
      ["'name'::name", 'name'],
      ["''::bytea", Buffer.alloc(0)],
      ["'\\x00ff5c'::bytea", Buffer.from([0, 255, 92])],
      ['NULL::bytea', null],
    ];
    for (const [text, value] of RESULTS) {
      it(`as they are: ${text}`, async () => {
        const [expression = '', from] = text.split(' FROM ');
        const { rows } = await link().query(`SELECT ${expression} AS value ${from ? `FROM ${from}` : ''}`);
        assert.deepEqual(rows, [{ value }]);
      });
    }

    it('never rounded', async () => {
      await assert.rejects(one('9007199254740993::bigint'), RangeError);
      assert.equal(await one('1'), 1);
    });
  });

  describe('takes values', () => {
    const TEXTS = ['', '\\', '\\x00', "'; --", '"{}",', 'null', '€ 𝄞', ' \r\n\t', 'x'.repeat(100_000)];
    for (const text of TEXTS) {
      it(`as they are: ${JSON.stringify(text.slice(0, 20))}`, async () => {
        assert.equal(await one('$1::text', [text]), text);
      });
    }

    it('that are numbers', async () => {
      for (const number of [0, -1, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
        assert.equal(await one('$1::bigint', [number]), number);
      }
      assert.equal(await one('$1::double precision', [0.1]), 0.1);
      assert.equal(await one('$1::int', [null]), null);
    });

    it('that are bytes', async () => {
      for (const bytes of [EVERY_BYTE, Buffer.alloc(0), Buffer.alloc(3_000_000, EVERY_BYTE)]) {
        const value = await one('$1::bytea', [bytes]);
        assert.ok(Buffer.isBuffer(value) && value.equals(bytes));
      }
    });
  });

  it('sets what holds for its session, whatever characters it has', async () => {
    const parameters = { search_path: 'public, "odd \\ name"', application_name: 'two words' };
    const own = link({ parameters, statementTimeout: 4_321 });
    const setting = async (name: string) =>
      (await own.query(`SELECT current_setting('${name}') AS value`)).rows[0]?.value;
    assert.equal(await setting('search_path'), parameters.search_path);
    assert.equal(await setting('application_name'), parameters.application_name);
    assert.equal(await setting('statement_timeout'), '4321ms');
    assert.equal(await setting('idle_in_transaction_session_timeout'), '10s');
    assert.equal(await setting('jit'), 'off');
    const fromUrl = link({}, `${database.url}?work_mem=5MB&options=-c%20geqo%3Doff`);
    const { rows } = await fromUrl.query(`SELECT current_setting('work_mem') AS mem, current_setting('geqo') AS geqo`);
    assert.deepEqual(rows, [{ mem: '5MB', geqo: 'off' }]);
  });

  describe('that is given several statements at once', () => {
    it('gives the answer of the last', async () => {
      const answer = await link().together([{ text: 'SELECT 1 AS n' }, { text: 'SELECT $1::int AS n', values: [2] }]);
      assert.deepEqual(answer, { rows: [{ n: 2 }], count: 1, command: 'SELECT', life: 0 });
    });

    it('tells the error of one, and then takes the next', async () => {
      const own = link();
      const failing = own.together([{ text: 'SELECT 1 / 0' }, { text: 'SELECT 1' }]);
      const following = own.query('SELECT 2 AS n');
      await assert.rejects(failing, { code: '22012' });
      assert.deepEqual((await following).rows, [{ n: 2 }]);
      await assert.rejects(own.together([{ text: 'SELECT 1' }, { text: 'SELECT no_such' }]), { code: '42703' });
      assert.equal(own.life, 0);
    });

    it('commits nothing of a transaction whose last statement fails', async () => {
      const own = link();
      await own.query('BEGIN');
      await own.query('INSERT INTO noted VALUES (100)');
      await assert.rejects(own.together([{ text: 'SELECT 1 / 0' }, { text: 'COMMIT' }]), { code: '22012' });
      assert.ok(!(await noted()).includes(100));
    });

    it('sends none of them when a value cannot be sent', async () => {
      const own = link();
      const statements = [{ text: 'INSERT INTO noted VALUES (101)' }, { text: 'SELECT $1::int[]', values: [[0.5]] }];
      await assert.rejects(own.together(statements), RangeError);
      assert.ok(!(await noted()).includes(101));
    });

    it('says that their fate is unknown when the connection is lost before they are answered', async () => {
      const relay = await relayed();
      const own = link({}, relay.url);
      await own.query('SELECT 1');
      relay.cutAfter('VALUES (103)');
      const both = own.together([
        { text: 'INSERT INTO noted VALUES (102)' },
        { text: 'INSERT INTO noted VALUES (103)' },
      ]);
      const [first, later, sameLife] = await Promise.allSettled([
        both,
        own.query('SELECT 4 AS n'),
        own.query('SELECT 5', [], 0),
      ]);
      assert.ok(first.status === 'rejected' && isUnavailable(first.reason));
      assert.ok(sameLife.status === 'rejected' && isUnavailable(sameLife.reason));
      assert.ok(later.status === 'fulfilled', 'what came after has a connection of its own');
      assert.deepEqual([own.life, relay.count], [1, 2]);
      // Both, one or none were run, but never twice, which the key would forbid.
      await eventually('the server has read what was sent', async () => (await noted()).includes(103));
    });

    it('runs nothing of what follows the statement at which the server ended the connection', async () => {
      const own = link();
      const { rows } = await own.query('SELECT pg_backend_pid() AS pid');
      const both = own.together([{ text: 'SELECT pg_sleep(60)' }, { text: 'INSERT INTO noted VALUES (104)' }]);
      both.catch(() => {});
      await direct(async (query) => {
        const sleeping = `SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`;
        await eventually('it sleeps', async () => (await query(sleeping, [rows[0]?.pid])).length === 1);
        await query('SELECT pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
      });
      await assert.rejects(both, isUnavailable);
      assert.equal(own.life, 1);
      assert.ok(!(await noted()).includes(104));
      assert.equal((await own.query('SELECT 1')).count, 1);
    });
  });

  it('prepares anew what has changed on the server', async () => {
    await direct((query) => query('CREATE TABLE growing (a int)'));
    const own = link();
    await own.query('SELECT * FROM growing');
    await direct((query) => query('ALTER TABLE growing ADD b int'));
    await assert.rejects(own.query('SELECT * FROM growing'), isUnavailable);
    await own.query('SELECT * FROM growing');
    await own.query('DEALLOCATE ALL');
    await assert.rejects(own.query('SELECT * FROM growing'), isUnavailable);
    assert.equal((await own.query('SELECT * FROM growing')).count, 0);
  });

  it('gives up a server that has fallen silent', async () => {
    const relay = await relayed();
    const own = link({ statementTimeout: 50 }, relay.url);
    await own.query('SELECT 1');
    relay.silence();
    await assert.rejects(
      own.query('SELECT 1'),
      (error) => isUnavailable(error) && /within 2\.05 s/.test(String(error)),
    );
    assert.equal(own.life, 1);
  });

  it('gives up a server that takes a connection and says nothing', async () => {
    const mute = createServer(() => {}).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const own = link({}, `postgres://u:p@127.0.0.1:${(mute.address() as AddressInfo).port}/d`);
    await assert.rejects(own.query('SELECT 1'), (error) => isUnavailable(error) && /within 2 s/.test(String(error)));
    assert.equal(own.unreachable, true);
    const waiting = own.query('SELECT 1');
    own.drop();
    await assert.rejects(waiting, isUnavailable);
    const last = own.query('SELECT 1');
    await own.close();
    await assert.rejects(last, isUnavailable);
    mute.close();
  });

  describe('whose connection is lost together with an answer', () => {
    /** Asks by way of a relay that shows the answer and the end of the session at once. */
    async function lostWith<T>(ask: (own: Link) => Promise<T>): Promise<[Link, Promise<T>]> {
      const relay = await relayed();
      const own = link({}, relay.url);
      const { rows } = await own.query('SELECT pg_backend_pid() AS pid');
      const session = rows[0]?.pid as number;
      relay.holdBack();
      const answer = ask(own);
      answer.catch(() => {});
      const done = `SELECT 1 FROM pg_stat_activity
        WHERE pid = ${session} AND state LIKE 'idle%' AND query NOT LIKE '%pg_backend_pid%'`;
      await eventually('the server has answered', async () => (await direct((query) => query(done))).length > 0);
      await direct((query) => query(`SELECT pg_terminate_backend(${session})`));
      return [own, answer];
    }

    it('tells in which life it came', async () => {
      const [own, answer] = await lostWith((asked) => asked.query('SELECT 7 AS n'));
      const { rows, life } = await answer;
      assert.deepEqual([rows[0]?.n, life, own.life], [7, 0, 1]);
    });

    it('runs nothing of a transaction outside of it', async () => {
      const [, outcome] = await lostWith((asked) =>
        createPool([asked], postgresDialect).transaction(async (tx) => {
          await tx.run('INSERT INTO noted VALUES (700)');
          throw new Error('everything is to be undone');
        }),
      );
      await assert.rejects(outcome, isUnavailable);
      assert.equal((await noted()).includes(700), false);
    });

    it('listens again', async () => {
      const heard = Promise.withResolvers<void>();
      const waker = createWaker();
      waker.listen(({ everything }) => {
        if (everything) heard.resolve();
      });
      const [own, started] = await lostWith((asked) => {
        const speaking = link();
        const parts = { speaking, listening: asked, waker, floors: createFloors(), log: () => {}, notifyAlone: false };
        const wakeups = createWakeups(parts);
        after(() => wakeups.stop());
        return wakeups.start();
      });
      await started;
      await heard.promise;
      assert.equal(own.life, 1);
    });
  });

  it('that is dropped or closed leaves nobody waiting', async () => {
    const own = link();
    await own.query('SELECT 1');
    const dropped = own.query('SELECT pg_sleep(60)');
    own.drop();
    await assert.rejects(dropped, isUnavailable);
    await own.query('SELECT 1');
    const closed = [own.query('SELECT pg_sleep(60)'), own.query('SELECT 1')];
    await Promise.all([own.close(), ...closed.map((answer) => assert.rejects(answer, isUnavailable))]);
    await assert.rejects(own.query('SELECT 1'), isUnavailable);
  });

  it('goes to the next host when one is away', async () => {
    const { host, port } = new URL(database.url);
    const url = database.url.replace(host, `127.0.0.1:9,127.0.0.1:${port}`);
    const own = link({}, `${url}?target_session_attrs=read-write`);
    assert.equal((await own.query('SELECT 1')).count, 1);
    const mute = createServer(() => {}).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port: silent } = mute.address() as AddressInfo;
    const behindSilent = link({}, database.url.replace(host, `127.0.0.1:${silent},127.0.0.1:${port}`));
    assert.equal((await behindSilent.query('SELECT 1')).count, 1);
    mute.close();
    const readOnly = link({}, `${database.url}?target_session_attrs=primary&default_transaction_read_only=on`);
    await assert.rejects(readOnly.query('SELECT 1'), isUnavailable);
  });

  describe('is encrypted', () => {
    const connects = async (url: string, mode: string): Promise<boolean> => {
      const own = link({}, `${url}?sslmode=${mode}`);
      try {
        return (await own.query('SELECT 1')).count === 1;
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        return false;
      }
    };
    const outcomes = (url: string) =>
      Promise.all(['disable', 'prefer', 'require', 'verify-full'].map((mode) => connects(url, mode)));

    it('only if the server can', async () => {
      assert.deepEqual(await outcomes(database.url), [true, true, false, false]);
    });

    it('with a certificate that has to be good only for who asks for that', async () => {
      const { url } = await relayed({ tls: true });
      assert.deepEqual(await outcomes(url), [false, true, true, false]);
    });

    it('with a certificate of the authority that was named, and with one of its own', async () => {
      const [certificate, key] = [join(temporaryFolder(), 'certificate'), join(temporaryFolder(), 'key')];
      writeFileSync(certificate, CERTIFICATE);
      writeFileSync(key, KEY);
      const authority = `&sslrootcert=${certificate}`;
      const [here, elsewhere] = [await relayed({ tls: true }), await relayed({ tls: true, host: '127.0.0.2' })];
      assert.equal(await connects(here.url, `verify-full${authority}`), true);
      assert.equal(await connects(elsewhere.url, `verify-full${authority}`), false, 'it is for another host');
      assert.equal(await connects(elsewhere.url, `verify-ca${authority}`), true, 'whatever the host');
      const strict = await relayed({ tls: 'of both' });
      assert.equal(await connects(strict.url, `verify-full${authority}`), false, 'it shows nothing of itself');
      assert.equal(await connects(strict.url, `verify-full${authority}&sslcert=${certificate}&sslkey=${key}`), true);
    });
  });

  it('names no more statements than a server should keep', async () => {
    const own = link();
    for (let n = 0; n < 1_100; n++) await own.query(`SELECT ${n}, $1::int AS n`, [n]);
    await own.query(`SELECT '${'x'.repeat(20_000)}'`);
    const { rows } = await own.query('SELECT count(*) AS count FROM pg_prepared_statements');
    const count = Number(rows[0]?.count);
    assert.ok(count > 900 && count <= 1_000, `${count} statements`);
  });
});
