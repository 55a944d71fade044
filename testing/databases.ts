import { randomBytes } from 'node:crypto';
import { type Cluster, FAST_AND_FRAGILE, startCluster, withConnection } from './postgres.ts';

/** An empty PostgreSQL database of one test's own. */
export type FreshDatabase = { url: string; drop(): Promise<void> };

let ownCluster: Promise<Cluster> | undefined;

/**
 * A fresh database on the cluster that the test command started. A test file that is run by hand starts a cluster of
 * its own at the first call; it ends with the process.
 */
export async function freshDatabase(): Promise<FreshDatabase> {
  const administration = await administrationUrl();
  const name = `waypost_${randomBytes(6).toString('hex')}`;
  await withConnection(administration, (query) => query(`CREATE DATABASE ${name}`));
  const url = new URL(administration);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      // FORCE: a pool that the test left open must not keep the database.
      await withConnection(administration, (query) => query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    },
  };
}

async function administrationUrl(): Promise<string> {
  const shared = process.env.WAYPOST_TEST_POSTGRES;
  if (shared) return shared;
  ownCluster ??= startCluster({ settings: FAST_AND_FRAGILE });
  return (await ownCluster).url('postgres');
}
