/** The plans of the statements that run all the time, on an empty table and on a full one that was never analysed. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type FreshDatabase, freshDatabase } from '../../../../testing/databases.ts';
import type { Claim, Posting, SqlValue, Store } from '../store.ts';
import { claimOutcomes, claims, claimValues } from './claim.ts';
import { postgresDialect } from './dialect.ts';
import { createFloors, HEAD, type Start } from './floors.ts';
import { createLink, type Link } from './link.ts';
import { CLAIM_PLANS, COLD_PLANS, POST_PLANS } from './plans.ts';
import { queuePosts, topicPosts } from './post.ts';
import { batchOf } from './post-batch.ts';
import { openPostgres } from './postgres.ts';
import { acknowledgements, settlements, settleValues } from './settle.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly Plans?: readonly PlanNode[];
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Parent Relationship'?: string;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
}

const { skipLocked } = postgresDialect;
const promote = `UPDATE delivery SET state = 0, due = NULL WHERE id IN
  (SELECT id FROM delivery WHERE state IN (1, 2) AND due <= $1 ORDER BY due, id LIMIT 100 ${skipLocked})`;
const prune = `DELETE FROM delivery WHERE id IN
  (SELECT id FROM delivery WHERE dest = $1 AND state >= 5 AND due <= $2 ORDER BY due, id LIMIT 500
   ${skipLocked})`;

const aClaim = (more: Partial<Claim> = {}): Claim => ({
  destination: 1,
  max: 1,
  maxBytes: 1_000_000,
  mode: 'consume',
  due: 1,
  token: 1,
  now: 1,
  ...more,
});

const aPosting = (link?: { chain: number; n: number }, volatile = 0): Posting => ({
  destination: 1,
  kind: 'queue',
  posted: 1,
  messages: [
    {
      id: 2 + volatile,
      contentType: null,
      headers: '[]',
      body: Buffer.from('x'),
      rank: 5,
      delayedUntil: null,
      expires: null,
    },
  ],
  ...(link && { once: { ...link, expires: 9 } }),
});

async function explain(link: Link, options: string, text: string, values: readonly SqlValue[]): Promise<PlanNode> {
  const { rows } = await link.query(`EXPLAIN (${options}FORMAT json) ${text}`, values);
  const plans = rows[0]?.['QUERY PLAN'] as { Plan: PlanNode }[] | undefined;
  assert.ok(plans?.[0]);
  return plans[0].Plan;
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

function lockingNode(plan: PlanNode): PlanNode {
  const found = nodesOf(plan).find((node) => node['Node Type'] === 'LockRows');
  assert.ok(found, 'the plan locks rows');
  return found;
}

/** Tables are reached through their indexes alone. */
function assertByIndex(plan: PlanNode): void {
  for (const node of nodesOf(plan)) {
    if (node['Relation Name'] === undefined) continue;
    assert.match(node['Node Type'], /^(Index (Only )?Scan|ModifyTable)$/, JSON.stringify(node));
  }
}

/** Rows come in the order of the index, merged over the partitions, so that a LIMIT reads no more than it gives. */
function assertMerged(plan: PlanNode): void {
  const below = nodesOf(lockingNode(plan)).map((node) => node['Node Type']);
  assert.deepEqual(below, ['LockRows', 'Merge Append', 'Index Scan', 'Index Scan']);
}

describe('plans', { timeout: 120_000 }, () => {
  let database: FreshDatabase;
  let store: Store;
  let hot: Link;
  let posting: Link;
  let cold: Link;
  before(async () => {
    database = await freshDatabase();
    store = await openPostgres(database.url);
    hot = createLink(database.url, { statementTimeout: 60_000, parameters: CLAIM_PLANS });
    posting = createLink(database.url, { statementTimeout: 60_000, parameters: POST_PLANS });
    cold = createLink(database.url, { statementTimeout: 60_000, parameters: COLD_PLANS });
  });
  after(async () => {
    await Promise.all([hot.close(), posting.close(), cold.close(), store.close()]);
    await database.drop();
  });

  const declare = (size: string): void => {
    it(`claim by index, ${size}`, async () => {
      const plan = await explain(
        hot,
        '',
        claims,
        claimValues([aClaim(), aClaim({ destination: 2 })], () => HEAD),
      );
      assertByIndex(plan);
      assertMerged(plan);
    });
    it(`settle by index, ${size}`, async () => {
      const settlement = { id: 4, token: 1, verdict: 'return', due: null, maxDeliveries: 3, now: 1 } as const;
      assertByIndex(await explain(hot, '', settlements, settleValues([settlement])));
    });
    it(`acknowledge by the ids, ${size}`, async () => {
      const plan = await explain(hot, '', acknowledgements, [
        [4, 6],
        [1, 1],
        [9, 9],
      ]);
      const indexes = nodesOf(plan).flatMap((node) => node['Index Name'] ?? []);
      assert.deepEqual(indexes, ['delivery_durable_pkey']);
      // Rows are locked in the order in which they are found.
      const change = nodesOf(plan).find((node) => node['Node Type'] === 'ModifyTable');
      assert.deepEqual(
        (change?.Plans ?? []).map((node) => node['Node Type']),
        ['Index Scan'],
      );
    });
    it(`post by index, chains in the order of theirs, ${size}`, async () => {
      for (const [n, volatile] of [1, 2].flatMap((n) => [0, 1].map((volatile) => [n, volatile] as const))) {
        const batch = batchOf([aPosting({ chain: 9, n }, volatile), aPosting({ chain: 7, n }, volatile), aPosting()]);
        for (const text of [queuePosts(batch), topicPosts(batch)]) {
          const plan = await explain(posting, '', text, batch.values);
          assertByIndex(plan);
          // Nothing between the index and the change could put the chains into another order.
          const change = nodesOf(plan).find(
            (node) => node['Relation Name'] === 'once_chain' && node.Plans !== undefined,
          );
          const below = (change?.Plans ?? [])
            .filter((node) => node['Parent Relationship'] === 'Outer')
            .flatMap(nodesOf);
          const types = below.map((node) => node['Node Type']).filter((type) => type !== 'Result');
          if (n > 1) assert.deepEqual(types, ['Index Scan']);
          else assert.ok(types.includes('Sort'), types.join());
        }
      }
    });
    it(`promote by index, ${size}`, async () => {
      const plan = await explain(cold, '', promote, [5]);
      assertByIndex(plan);
      assertMerged(plan);
    });
    it(`prune by index, ${size}`, async () => {
      const plan = await explain(cold, '', prune, [1, 5]);
      assertByIndex(plan);
      assertMerged(plan);
    });
  };

  declare('empty');
  it('fills the table', async () => {
    const rows = await store.transaction((tx) =>
      tx.run(
        `INSERT INTO delivery (id, dest, rank, ord, state, due, tries, token, size, durable)
         SELECT i, 1 + i % 3, 5, i, (ARRAY[0, 0, 0, 1, 2, 5])[1 + i % 6], i, 0, 0, 1, i % 4 <> 0
         FROM generate_series(1, 200000) AS i`,
      ),
    );
    assert.equal(rows, 200_000);
    await store.transaction((tx) =>
      tx.run('INSERT INTO once_chain (chain, n, expires) SELECT i, 1, i FROM generate_series(1, 50000) AS i'),
    );
  });
  declare('200 000 rows');
});

describe('a claim beside an open snapshot', { timeout: 120_000 }, () => {
  it('does not read the messages that were claimed before', async () => {
    const database = await freshDatabase();
    const store = await openPostgres(database.url);
    const link = createLink(database.url, { statementTimeout: 60_000, parameters: CLAIM_PLANS });
    const other = createLink(database.url, {
      statementTimeout: 0,
      parameters: { idle_in_transaction_session_timeout: '0' },
    });
    try {
      await other.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await other.query('SELECT count(*) FROM meta');
      await store.transaction(async (tx) => {
        // Neighbours in the queue lie on different pages, as when many queues are posted to at once.
        await tx.run(
          `INSERT INTO delivery (id, dest, rank, ord, state, tries, token, size, durable)
           SELECT i * 2, 1, 5, i, 0, 0, 0, 1, true FROM generate_series(1, 5000) AS i ORDER BY i % 97`,
        );
        await tx.run(
          `INSERT INTO message (id, dest, posted, headers, body, durable)
           SELECT i * 2, 1, 1, '[]', '', true FROM generate_series(1, 5000) AS i`,
        );
      });
      // The hint is dropped every second; here time stands still.
      const floors = createFloors(() => 0);
      for (let taken = 0; taken < 4_900; taken += 100) {
        const batch = [aClaim({ max: 100 })];
        const starts = new Map<number, Start>([[1, floors.start(1)]]);
        const values = claimValues(batch, () => starts.get(1)?.place ?? HEAD);
        const [claimed] = claimOutcomes(batch, (await link.query(claims, values)).rows, starts);
        assert.equal((claimed as unknown[]).length, 100);
      }
      const buffers = async (place: typeof HEAD): Promise<number> => {
        const values = claimValues([aClaim()], () => place);
        const node = lockingNode(await explain(link, 'ANALYZE, BUFFERS, TIMING off, ', claims, values));
        return (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0);
      };
      const fromFloor = await buffers(floors.start(1).place);
      const fromHead = await buffers(HEAD);
      assert.ok(fromHead > 1_000, `the dead rows are there: ${fromHead} buffers`);
      assert.ok(fromFloor < 100, `${fromFloor} buffers from the floor`);
    } finally {
      await other.close();
      await link.close();
      await store.close();
      await database.drop();
    }
  });
});
