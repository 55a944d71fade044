/**
 * Settings of the sessions by which the server chooses its plans. They must not change with what it believes of its
 * tables: a queue is empty one moment and full the next, and a plan made for the one is ruinous for the other.
 */
const BY_INDEX = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_mergejoin: 'off',
  // PostgreSQL 18 (seen with 18.4) prunes partitions while a statement runs with what it has freed when it had to look
  // at a row again that another session changed: its process crashes, and with it every connection to the server.
  enable_partition_pruning: 'off',
};

/** Statements of the duties and use cases: a free planner scans all deliveries to promote or prune a few. */
export const COLD_PLANS = { ...BY_INDEX, enable_hashjoin: 'off' };
/** Claims and settlements find rows by index for each entry of a list. */
export const CLAIM_PLANS = { ...COLD_PLANS, plan_cache_mode: 'force_generic_plan' };
/** Posts join lists with lists. */
export const POST_PLANS = { ...BY_INDEX, enable_nestloop: 'off', plan_cache_mode: 'force_generic_plan' };
