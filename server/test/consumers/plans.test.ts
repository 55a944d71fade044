/** How each listing is carried out: along an index, in its order, reading no more than it gives. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type EngineDatabase, forEachEngine } from '../../../testing/engines.ts';
import { analyse, fillConsumers } from '../../src/consumers/filling.fixtures.ts';
import { listConsumersText } from '../../src/consumers/queries/consumers.ts';
import { entitledText, RIVAL, rangeStatement, type Scope } from '../../src/consumers/queries/entitlements.ts';
import { openStore } from '../../src/store/open.ts';
import type { SqlValue, Store } from '../../src/store/store.ts';

const CONSUMERS = 20_000;
const MIDDLE = 1_000_000_000 + CONSUMERS / 2;
const LIMIT = 101;

interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly SqlValue[];
  /** The index it must go along. */
  readonly index: RegExp;
}

function statements(): Statement[] {
  const rival = { name: 'a rival', text: RIVAL, values: ['product 5', MIDDLE, 5, 'x'], index: /entitlement_product/ };
  const found: Statement[] = [rival];
  for (const backwards of [false, true]) {
    const direction = backwards ? 'backwards' : 'forwards';
    for (const [status, index] of [
      ['active', /consumer_state/],
      ['terminated', /consumer_state/],
      ['all', /consumer_pkey|PRIMARY KEY/],
    ] as const) {
      const text = listConsumersText(backwards, status);
      found.push({ name: `consumers ${status} ${direction}`, text, values: [MIDDLE, LIMIT], index });
    }
    for (const terminated of [false, true]) {
      const text = entitledText(terminated, backwards);
      const name = `${terminated ? 'terminated' : 'active'} consumers with entitlements ${direction}`;
      found.push({ name, text, values: [MIDDLE, LIMIT], index: /consumer_entitled/ });
    }
    const ranges: [name: string, scope: Scope, index: RegExp][] = [
      ['standing entitlements', { marked: false }, /entitlement_marked/],
      ['terminated entitlements', { marked: true }, /entitlement_marked/],
      ['standing entitlements of a consumer', { consumer: MIDDLE, marked: false }, /entitlement_marked/],
      ['terminated entitlements of a consumer', { consumer: MIDDLE, marked: true }, /entitlement_marked/],
      ['entitlements to a product', { product: 'product 5' }, /entitlement_product/],
      ['entitlements of a consumer to a product', { product: 'product 5', consumer: MIDDLE }, /entitlement_product/],
    ];
    // From the first, from somewhere, and from behind the last that was ever analysed.
    for (const n of [0, MIDDLE, 2 * MIDDLE]) {
      for (const [name, scope, index] of ranges) {
        const from = { consumer: MIDDLE, n };
        const { text, values } = rangeStatement({ ...scope, from, backwards, limit: LIMIT });
        found.push({ name: `${name} ${direction}`, text, values, index });
      }
    }
  }
  return found;
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}
const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

async function checkPostgres(store: Store, { text, values, index }: Statement, isGeneric: boolean): Promise<void> {
  const rows = await store.transaction(async (tx) => {
    await tx.run(`SET LOCAL plan_cache_mode = force_${isGeneric ? 'generic' : 'custom'}_plan`);
    const literals = values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
    await tx.run(`PREPARE looked_at AS ${text}`);
    const found = await tx.all(
      `EXPLAIN (ANALYZE, TIMING off, FORMAT json) EXECUTE looked_at(${literals.join(', ')}) -- ${isGeneric}`,
    );
    await tx.run('DEALLOCATE looked_at');
    return found;
  });
  const plans = rows[0]?.['QUERY PLAN'] as { Plan: PlanNode }[] | undefined;
  assert.ok(plans?.[0]);
  const nodes = nodesOf(plans[0].Plan);
  const shown = JSON.stringify(nodes.map(({ Plans: _, ...node }) => node));
  for (const node of nodes) {
    assert.match(node['Node Type'], /^(Limit|Nested Loop|Index Scan|Index Only Scan|Memoize|Materialize)$/, shown);
    assert.ok(node['Actual Rows'] * node['Actual Loops'] <= LIMIT + 1, shown);
    assert.equal(node['Rows Removed by Filter'] ?? 0, 0, shown);
  }
  assert.ok(
    nodes.some((node) => index.test(node['Index Name'] ?? '')),
    shown,
  );
}

async function checkSqlite(store: Store, { text, values, index }: Statement): Promise<void> {
  const rows = await store.read((tx) => tx.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, values));
  const details = rows.map(({ detail }) => detail);
  const shown = details.join('; ');
  for (const detail of details) assert.match(detail, /^SEARCH /, shown);
  assert.ok(
    details.some((detail) => index.test(detail)),
    shown,
  );
}

forEachEngine('plans of the listings', (engine) => {
  let database: EngineDatabase;
  let store: Store;
  before(async () => {
    database = await engine.database();
    const { options } = database;
    const location =
      'data' in options ? { database: undefined, folder: options.data } : { database: options.database, folder: '' };
    store = await openStore({ ...location, reserveBytes: 0 }, () => {});
  });
  after(async () => {
    await store.close();
    await database.drop();
  });

  const check = async (): Promise<void> => {
    for (const statement of statements()) {
      if (store.engine === 'sqlite') await checkSqlite(store, statement);
      else for (const isGeneric of [true, false]) await checkPostgres(store, statement, isGeneric);
    }
  };

  it('go along an index while the tables are empty', check);
  it('fills the tables', async () => {
    await fillConsumers(store, { consumers: CONSUMERS, each: 3, terminated: 4 });
  });
  it('go along an index when the tables were never analysed', check);
  it('go along an index when they were', async () => {
    await analyse(store);
    await check();
  });
});
