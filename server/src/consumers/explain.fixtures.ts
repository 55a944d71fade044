/** Looks at how an engine carries a statement out, and says what is wrong with it. */
import type { SqlValue, Store } from '../store/store.ts';
import { type LookedAt, PAGE } from './plans.fixtures.ts';

export interface Plan {
  /** For people. */
  readonly shown: string;
  readonly faults: readonly string[];
}

/** On PostgreSQL the plan for these values and the one for any; SQLite has one for both. */
export async function plansOf(store: Store, statement: LookedAt): Promise<Plan[]> {
  if (store.engine === 'sqlite') return [await sqlitePlan(store, statement)];
  return [await postgresPlan(store, statement, 'custom'), await postgresPlan(store, statement, 'generic')];
}

async function sqlitePlan(store: Store, { text, values, index, found }: LookedAt): Promise<Plan> {
  const rows = await store.read((tx) => tx.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, values));
  const details = rows.map(({ detail }) => detail);
  // A page that was cut before is gone through as it is.
  const isPage = (detail: string): boolean =>
    detail.startsWith('CO-ROUTINE ') || details.includes(detail.replace('SCAN', 'CO-ROUTINE'));
  const faults = details
    .filter((detail) => !isPage(detail))
    .filter((detail) => !/^(SEARCH |(REUSE )?LIST SUBQUERY|SCALAR SUBQUERY|SCAN json_each VIRTUAL)/.test(detail))
    .map((detail) => `scans or sorts: ${detail}`);
  if (!details.some((detail) => index.test(detail) && detail.endsWith(`(${found})`))) {
    faults.push(`does not search ${index.source} for ${found}`);
  }
  return { shown: details.join('; '), faults };
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}
interface Explained {
  readonly Plan: PlanNode;
  readonly 'Execution Time': number;
}
const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

const HARMLESS = /^(Limit|Nested Loop|Index Scan|Index Only Scan|Memoize|Materialize|Subquery Scan)$/;
/** Pages that a row may cost: its own, its consumer's, and the way to both. */
const BUFFERS_OF_A_ROW = 12;

async function postgresPlan(store: Store, statement: LookedAt, mode: 'custom' | 'generic'): Promise<Plan> {
  const { text, values, index } = statement;
  const rows = await store.transaction(async (tx) => {
    await tx.run(`SET LOCAL plan_cache_mode = force_${mode}_plan`);
    await tx.run(`PREPARE looked_at AS ${text}`);
    const options = `ANALYZE, BUFFERS, FORMAT json`;
    const found = await tx.all(`EXPLAIN (${options}) EXECUTE looked_at(${values.map(literal).join(', ')}) -- ${mode}`);
    await tx.run('DEALLOCATE looked_at');
    return found;
  });
  const explained = (rows[0]?.['QUERY PLAN'] as Explained[] | undefined)?.[0];
  if (explained === undefined) throw new Error(`no plan for ${statement.name}`);
  const nodes = nodesOf(explained.Plan);
  const faults: string[] = [];
  for (const node of nodes) {
    const { 'Node Type': type, 'Actual Rows': found, 'Actual Loops': loops } = node;
    if (!HARMLESS.test(type)) faults.push(`scans or sorts: ${type}`);
    if (found * loops > PAGE + 1) faults.push(`reads ${found * loops} rows: ${type}`);
    if ((node['Rows Removed by Filter'] ?? 0) > 0) faults.push(`drops rows: ${type}`);
  }
  // How many are joined first depends on what the engine believes of its tables; how many are in a page does not.
  const cut = nodes.find((node) => node['Node Type'] === 'Limit');
  if (values.at(-1) === PAGE && (cut === undefined || nodesOf(cut).length !== 2))
    faults.push('joins before it cuts the page');
  if (!nodes.some((node) => index.test(node['Index Name'] ?? ''))) faults.push(`does not use ${index.source}`);
  const { 'Actual Rows': given, 'Shared Hit Blocks': hit, 'Shared Read Blocks': read } = explained.Plan;
  const buffers = hit + read;
  if (buffers > (given + 3) * BUFFERS_OF_A_ROW) faults.push(`touches ${buffers} pages for ${given} rows`);
  const steps = nodes.map((node) =>
    [node['Node Type'], node['Index Name'], node['Index Cond']].filter(Boolean).join(' '),
  );
  const cost = `${given} rows, ${buffers} pages, ${explained['Execution Time'].toFixed(2)} ms`;
  return { shown: `${steps.join(' < ')} [${mode}: ${cost}]`, faults };
}

function literal(value: SqlValue): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return `'${value}'`;
  if (Array.isArray(value)) return `ARRAY[${value.join(', ')}]`;
  throw new TypeError('not a value of a listing');
}
