/**
 * Settings of the sessions by which the server chooses its plans. They must not change with what it believes of its
 * tables: a queue is empty one moment and full the next, and a plan made for the one is ruinous for the other.
 */
const BY_INDEX = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_mergejoin: 'off',
  // PostgreSQL 18 crashes, and takes every session with it, when a statement that chooses its partitions at run time finds
  // a row it wants to lock changed by another. With two partitions the choice gains nothing.
  enable_partition_pruning: 'off',
  // A plan for any LIMIT believes that a tenth of the table is wanted, and starts workers for a page of a hundred.
  max_parallel_workers_per_gather: '0',
};

/** Statements of the duties and use cases: a free planner scans all deliveries to promote or prune a few. */
export const COLD_PLANS = { ...BY_INDEX, enable_hashjoin: 'off' };
/** Claims and settlements find rows by index for each entry of a list. */
export const CLAIM_PLANS = { ...COLD_PLANS, plan_cache_mode: 'force_generic_plan' };
/** Posts join lists with lists. */
export const POST_PLANS = { ...BY_INDEX, enable_nestloop: 'off', plan_cache_mode: 'force_generic_plan' };
