/** Once-only links that two nodes use at once: the server has to look at changed rows again, and nobody waits in a circle. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../../testing/eventually.ts';
import { type Cluster, FAST_AND_FRAGILE, startCluster, withConnection } from '../../../../testing/postgres.ts';
import { range, type Shorthands, using } from '../cases/tools.ts';
import type { Store } from '../store.ts';
import { openPostgres } from './postgres.ts';

const EXPIRES = 9_000;

// A server of its own: one that crashes would take the databases of all other tests along.
describe('contested links', { timeout: 120_000 }, () => {
  let cluster: Cluster;
  let url: string;
  let stores: Store[];
  let nodes: Shorthands[];
  before(async () => {
    cluster = await startCluster({ settings: FAST_AND_FRAGILE });
    url = await cluster.createDatabase();
    stores = [await openPostgres(url), await openPostgres(url)];
    nodes = stores.map((store) => using(store));
  });
  after(async () => {
    for (const store of stores ?? []) await store.close();
    await cluster?.stop();
  });

  const nodeAt = (index: number): Shorthands => nodes[index] as Shorthands;
  const newChains = (count: number): number[] => range(count).map(() => (stores[0] as Store).nextId());
  const use = (node: Shorthands, destination: number, kind: 'queue' | 'topic', chain: number, n: number) =>
    node.post(destination, [node.message()], { kind, once: { chain, n, expires: EXPIRES } });

  for (const kind of ['queue', 'topic'] as const) {
    it(`in a ${kind}: one of two nodes wins each link, in whatever order they ask`, async () => {
      const destinations = [await nodeAt(0).create(kind), await nodeAt(0).create(kind)];
      const chains = newChains(32);
      for (const n of range(12).map((index) => index + 1)) {
        const ask = (node: Shorthands, order: readonly number[], destination = 0) =>
          Promise.all(order.map((chain) => use(node, destinations[destination] as number, kind, chain, n)));
        const [forth, back] = await Promise.all([
          ask(nodeAt(0), chains),
          // To another destination, so that the nodes meet at the chains and not before.
          ask(nodeAt(1), chains.toReversed(), 1),
        ]);
        for (const [index, outcome] of forth.entries()) {
          const other = back[chains.length - 1 - index];
          assert.deepEqual([outcome, other].toSorted(), ['once-used', 'stored'], `link ${n} of chain ${index}`);
        }
      }
      const stored = await Promise.all(destinations.map((destination) => nodeAt(0).stored(destination)));
      assert.equal(stored.flat().length, 32 * 12);
    });

    it(`in a ${kind}: a link that another uses meanwhile is refused, those beside it are used`, async () => {
      const destination = await nodeAt(0).create(kind);
      const chains = newChains(6);
      await Promise.all(chains.map((chain) => use(nodeAt(0), destination, kind, chain, 1)));
      for (const [round, contested] of [0, 2, 5, 3].entries()) {
        const n = round + 2;
        const posting = await withConnection(url, async (query) => {
          await query('BEGIN');
          await query('UPDATE once_chain SET n = $1 WHERE chain = $2', [n, chains[contested]]);
          const outcomes = Promise.all(chains.map((chain) => use(nodeAt(0), destination, kind, chain, n)));
          outcomes.catch(() => {});
          await eventually('the posts wait for the chain', async () => {
            const waiting = await query('SELECT 1 FROM pg_locks WHERE NOT granted');
            return waiting.length > 0;
          });
          await query('COMMIT');
          return { outcomes };
        });
        const expected = chains.map((_, index) => (index === contested ? 'once-used' : 'stored'));
        assert.deepEqual(await posting.outcomes, expected);
      }
      assert.equal((await nodeAt(1).stored(destination)).length, 6 + 4 * 5);
    });
  }
});
