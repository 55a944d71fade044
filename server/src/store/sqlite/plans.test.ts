/** No statement of the shared SQL may walk over a whole table of deliveries: a full queue would stop the service. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { temporaryFolder } from '../../../../testing/folders.ts';
import { createPruner } from '../../duties/prune.ts';
import { sweepDoomed } from '../../duties/sweep.ts';
import type { Destination } from '../../messaging/destination.ts';
import { countQueue, findDestination, holdsMessages, presencesOf } from '../../messaging/queries/destinations.ts';
import { peekQueue, purgeChunk, withReadyMessages } from '../../messaging/queries/messages.ts';
import { expireDue, lockDeadLetters, lockDue, nextDue } from '../../messaging/queries/redelivery.ts';
import { useOfLink, useOfName } from '../../messaging/queries/uses.ts';
import { postAlone } from '../post-alone.ts';
import type { Posting, Store, Tx } from '../store.ts';
import { openSqlite } from './sqlite.ts';

it('every statement on deliveries goes through an index', async (t) => {
  const store = await openSqlite(temporaryFolder());
  t.after(() => store.close());
  const plans: string[] = [];
  const explaining: Store = { ...store, transaction: (job) => store.transaction((tx) => job(explained(tx, plans))) };

  await explaining.transaction(async (tx) => {
    await tx.run(`INSERT INTO doomed_destination (id) VALUES (1)`);
    await countQueue(tx, 1, 1);
    await holdsMessages(tx, { id: 1, kind: 'queue' } as Destination, 1);
    await peekQueue(tx, 1, { max: 1, maxBytes: 1, now: 1 });
    await withReadyMessages(tx, [1], 100);
    await purgeChunk(tx, 1, 10);
    await lockDue(tx, 1, 10);
    await lockDeadLetters(tx, 1, { rank: -1, ord: 0 }, 10);
    await expireDue(tx, 1, 2, 10);
    await nextDue(tx);
    await tx.run(
      `INSERT INTO destination (id, kind, name, settings, version, created) VALUES (1, 'queue', 'q', '{}', 1, 1)`,
    );
    const limited: Posting = { destination: 1, kind: 'queue', posted: 1, messages: [], limits: { length: 1 } };
    await postAlone(tx, limited);
  });
  await createPruner(explaining, 1)();
  await sweepDoomed(explaining);

  const onDeliveries = plans.filter((plan) => /\bdelivery\b/.test(plan));
  assert.ok(onDeliveries.length > 10, 'the plans were looked at');
  assert.deepEqual(
    onDeliveries.filter((plan) => /SCAN \S*delivery\b/.test(plan)),
    [],
  );
});

it('who names a dead-letter queue is found by an index', async (t) => {
  const store = await openSqlite(temporaryFolder());
  t.after(() => store.close());
  const plans: string[] = [];
  await store.transaction(async (tx) => {
    await findDestination(explained(tx, plans), 'queue', 'q');
    await presencesOf(explained(tx, plans), [1]);
  });
  assert.equal(plans.length, 2);
  for (const plan of plans) {
    assert.match(plan, /SEARCH source USING (COVERING )?INDEX destination_dead_letter_to \(dead_letter_to=\?\)/);
    assert.doesNotMatch(plan, /SCAN (source|destination)/);
  }
});

it('who holds an id or a once-only link is found by an index', async (t) => {
  const store = await openSqlite(temporaryFolder());
  t.after(() => store.close());
  const plans: string[] = [];
  await store.transaction(async (tx) => {
    await useOfLink(explained(tx, plans), { chain: 1, n: 1 });
    await useOfName(explained(tx, plans), 1, Buffer.alloc(32));
  });
  assert.match(plans[0] ?? '', /SEARCH txn_message USING INDEX txn_message_link \(chain=\? AND link=\?\)/);
  assert.match(plans[1] ?? '', /SEARCH txn_message USING INDEX txn_message_name \(dest=\? AND name_hash=\?\)/);
});

/** Statements run as they are, and leave their plans. */
function explained(tx: Tx, plans: string[]): Tx {
  const explain: Tx['all'] = async (text, values) => {
    const steps = await tx.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, values);
    plans.push(`${text}\n→ ${steps.map(({ detail }) => detail).join('; ')}`);
    return tx.all(text, values);
  };
  return {
    dialect: tx.dialect,
    all: explain,
    get: async <R>(text: string, values?: Parameters<Tx['get']>[1]) => (await explain<R>(text, values))[0],
    run: async (text, values) => (await explain(text, values)).length,
    finish: async (text, values) => void (await explain(text, values)),
  };
}
