import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type FreshDatabase, freshDatabase } from '../../../../testing/databases.ts';
import { fc } from '../../../../testing/properties.ts';
import { createLink, type Link } from './link.ts';
import { listEncoders } from './lists.ts';

const MOST = Number.MAX_SAFE_INTEGER;

const LISTS: Record<string, readonly (string | number | null)[]> = {
  smallint: [0, 1, -1, null, 255, 256, 32_767, -32_768],
  int: [0, 1, -1, null, 65_536, 2_147_483_647, -2_147_483_648],
  bigint: [0, 1, -1, null, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, -(2 ** 32), -(2 ** 32) - 1, MOST, -MOST],
  text: ['', 'null', 'NULL', null, '{}', '"', '\\', "'", ',', ' \t\r\n', '€ 𝄞 ü', '\u0001', 'x'.repeat(5_000)],
};

describe('lists in binary', { timeout: 60_000 }, () => {
  let database: FreshDatabase;
  let link: Link;
  before(async () => {
    database = await freshDatabase();
    link = createLink(database.url, { statementTimeout: 10_000 });
  });
  after(async () => {
    await link.close();
    await database.drop();
  });

  async function throughServer(type: string, list: readonly unknown[]): Promise<unknown[]> {
    const text = `SELECT value FROM unnest($1::${type}[]) WITH ORDINALITY AS t (value, n) ORDER BY n`;
    const { rows } = await link.query(text, [list as number[]]);
    return rows.map(({ value }) => value);
  }

  for (const [type, list] of Object.entries(LISTS)) {
    it(`are read by the server as they were, ${type}`, async () => {
      assert.deepEqual(await throughServer(type, list), list);
      assert.deepEqual(await throughServer(type, []), []);
      assert.deepEqual(await throughServer(type, [null, null]), [null, null]);
      for (const value of list) assert.deepEqual(await throughServer(type, [value]), [value]);
    });
  }

  it('are read as they were, whatever they hold', async () => {
    const orNull = <T>(values: fc.Arbitrary<T>) => fc.array(fc.option(values));
    const noZero = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', ''));
    await fc.assert(
      fc.asyncProperty(orNull(fc.maxSafeInteger()), orNull(noZero), async (numbers, texts) => {
        assert.deepEqual(await throughServer('bigint', numbers), numbers);
        assert.deepEqual(await throughServer('text', texts), texts);
      }),
    );
  });

  it('are told apart from null', async () => {
    const { rows } = await link.query('SELECT $1::int[] IS NULL AS none, cardinality($2::int[]) AS count', [null, []]);
    assert.deepEqual(rows, [{ none: true, count: 0 }]);
  });

  it('whose type the statement leaves open are read, too', async () => {
    const text = 'SELECT 5::bigint = ANY ($1) AS number, $2::text = ANY ($3) AS text';
    const { rows } = await link.query(text, [[4, 5], 'a"\\{', ['b', 'a"\\{']]);
    assert.deepEqual(rows, [{ number: true, text: true }]);
  });

  it('refuse what does not fit, and the connection stays', async () => {
    const unfit: [string, number][] = [
      ['smallint', 32_768],
      ['smallint', 0.5],
      ['int', 2 ** 31],
      ['int', Number.NaN],
      ['bigint', 2 ** 53],
      ['bigint', 1.5],
    ];
    const { life } = link;
    for (const [type, value] of unfit) {
      assert.throws(() => listEncoders[type]?.([value]), RangeError);
      await assert.rejects(throughServer(type, [1, value]), RangeError);
    }
    assert.deepEqual(await throughServer('int', [1]), [1]);
    assert.equal(link.life, life);
  });
});
