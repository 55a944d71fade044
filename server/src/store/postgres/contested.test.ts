/** Settlements that find their rows changed by others: the server has to look at them again, and must survive that. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../../testing/eventually.ts';
import { type Cluster, FAST_AND_FRAGILE, startCluster, withConnection } from '../../../../testing/postgres.ts';
import type { Settlement, Store } from '../store.ts';
import { createLink, type Link } from './link.ts';
import { CLAIM_PLANS } from './plans.ts';
import { openPostgres } from './postgres.ts';
import { settlements, settleOutcomes, settleValues } from './settle.ts';

const TOKEN = 7;
/** The statement crashed the server when it was run for the second time. */
const ROUNDS = 4;

// A server of its own: one that crashes would take the databases of all other tests along.
describe('contested settlements', { timeout: 120_000 }, () => {
  let cluster: Cluster;
  let url: string;
  let store: Store;
  let link: Link;
  before(async () => {
    cluster = await startCluster({ settings: FAST_AND_FRAGILE });
    url = await cluster.createDatabase();
    store = await openPostgres(url);
    link = createLink(url, { statementTimeout: 30_000, parameters: CLAIM_PLANS });
  });
  after(async () => {
    await link?.close();
    await store?.close();
    await cluster?.stop();
  });

  async function leased(destination: number, count: number): Promise<number[]> {
    const ids = Array.from({ length: count }, (_, index) => store.nextId() * 2 + (index % 2));
    const common = { contentType: null, headers: '[]', body: Buffer.from('x'), rank: 5, expires: null } as const;
    const messages = ids.map((id) => ({ id, ...common, delayedUntil: null }));
    await store.messages.post({ destination, kind: 'queue', posted: store.now(), messages });
    const due = store.now() + 60_000;
    const claim = {
      destination,
      max: count,
      maxBytes: 1e6,
      mode: 'lease',
      due,
      token: TOKEN,
      now: store.now(),
    } as const;
    assert.equal((await store.messages.claim(claim)).length, count);
    return ids;
  }

  for (const contested of [0, 2, 5]) {
    it(`wait for number ${contested} of six, which another changes meanwhile`, async () => {
      const destination = store.nextId();
      await store.transaction((tx) =>
        tx.run('INSERT INTO destination (id, kind, name, settings, version, created) VALUES ($1, $2, $3, $4, 1, 0)', [
          destination,
          'queue',
          `contested-${contested}`,
          '{}',
        ]),
      );
      for (let round = 0; round < ROUNDS; round++) {
        const ids = await leased(destination, 6);
        const verdicts = ids.map((id): Settlement => {
          const now = store.now();
          return { id, token: TOKEN, verdict: 'acknowledge', due: now + 1000, maxDeliveries: 10, now };
        });
        const settled = await withConnection(url, async (query) => {
          await query('BEGIN');
          await query('UPDATE delivery SET due = due + 1 WHERE id = $1', [ids[contested]]);
          const answer = link.query(settlements, settleValues(verdicts));
          answer.catch(() => {});
          await eventually('the settlement waits for the row', async () => {
            const waiting = await query('SELECT 1 FROM pg_locks WHERE NOT granted');
            return waiting.length > 0;
          });
          await query('COMMIT');
          return { answer };
        });
        const { rows } = await settled.answer;
        assert.deepEqual(new Set(settleOutcomes(verdicts, rows)), new Set(['done']));
      }
    });
  }
});
