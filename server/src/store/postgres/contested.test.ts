/** Settlements that find their rows changed by others: the server has to look at them again, and must survive that. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../../testing/eventually.ts';
import { type Cluster, FAST_AND_FRAGILE, startCluster, withConnection } from '../../../../testing/postgres.ts';
import type { Settlement, Store } from '../store.ts';
import { type Answer, createLink, type Link } from './link.ts';
import { CLAIM_PLANS } from './plans.ts';
import { openPostgres } from './postgres.ts';
import { acknowledgements, acknowledgementValues, settlements, settleOutcomes, settleValues } from './settle.ts';

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

  async function newQueue(name: string): Promise<number> {
    const id = store.nextId();
    await store.transaction((tx) =>
      tx.run('INSERT INTO destination (id, kind, name, settings, version, created) VALUES ($1, $2, $3, $4, 1, 0)', [
        id,
        'queue',
        name,
        '{}',
      ]),
    );
    return id;
  }

  async function leased(destination: number, count: number, isMixed = true): Promise<number[]> {
    const ids = Array.from({ length: count }, (_, index) => store.nextId() * 2 + (isMixed ? index % 2 : 0));
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
      const destination = await newQueue(`contested-${contested}`);
      for (let round = 0; round < ROUNDS; round++) {
        const ids = await leased(destination, 6);
        const verdicts = acknowledgementsOf(ids);
        const change = [`UPDATE delivery SET due = due + 1 WHERE id = $1`, ids[contested]] as const;
        const { rows } = await whileChanged(change, settlements, settleValues(verdicts));
        assert.deepEqual(new Set(settleOutcomes(verdicts, rows)), new Set(['done']));
      }
    });
    it(`leave out number ${contested} of six, which another receives anew meanwhile`, async () => {
      const ids = await leased(await newQueue(`overtaken-${contested}`), 6, false);
      const values = acknowledgementValues(acknowledgementsOf(ids));
      const change = [`UPDATE delivery SET token = token + 1 WHERE id = $1`, ids[contested]] as const;
      const { rows: answer } = await whileChanged(change, acknowledgements, values ?? []);
      const others = ids.filter((_, index) => index !== contested);
      assert.deepEqual(String(answer[0]?.ids).split(',').map(Number), others);
      const rows = await store.read((tx) => tx.all('SELECT id, state FROM delivery WHERE id = ANY($1)', [ids]));
      const open = rows.filter(({ state }) => state === 1).map(({ id }) => id);
      assert.deepEqual(open, [ids[contested]]);
    });
  }

  const acknowledgementsOf = (ids: readonly number[]): Settlement[] =>
    ids.map((id) => {
      const now = store.now();
      return { id, token: TOKEN, verdict: 'acknowledge', due: now + 1000, maxDeliveries: 10, now };
    });

  /** Runs a statement that has to wait for a row which another transaction changes and commits. */
  async function whileChanged(
    [change, id]: readonly [string, number | undefined],
    ...question: Parameters<Link['query']>
  ): Promise<Answer> {
    const { answer } = await withConnection(url, async (query) => {
      await query('BEGIN');
      await query(change, [id]);
      const asked = link.query(...question);
      asked.catch(() => {});
      await eventually('the settlement waits for the row', async () => {
        const waiting = await query('SELECT 1 FROM pg_locks WHERE NOT granted');
        return waiting.length > 0;
      });
      await query('COMMIT');
      return { answer: asked };
    });
    return answer;
  }
});
