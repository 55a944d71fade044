/** What every engine must show. Each engine's test runs this suite on stores of its own. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { claimingCases } from './cases/claiming.cases.ts';
import { postingCases } from './cases/posting.cases.ts';
import { settlingCases } from './cases/settling.cases.ts';
import { idsOf, range, using } from './cases/tools.ts';
import { transactionCases } from './cases/transaction.cases.ts';
import type { News, Store } from './store.ts';

export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and opens the same data again. */
  reopen(): Promise<Store>;
  /** Closes the store and removes its data. */
  close(): Promise<void>;
}

/** Declares the suite. */
export function storeCases(name: string, open: () => Promise<OpenedStore>): void {
  describe(`store on ${name}`, { timeout: 120_000 }, () => {
    let opened: OpenedStore;
    let store: Store;
    let on: ReturnType<typeof using>;
    const subject = {
      get store() {
        return store;
      },
      get on() {
        return on;
      },
    };
    before(async () => {
      opened = await open();
      store = opened.store;
      on = using(store);
    });
    after(() => opened.close());

    claimingCases(subject);
    settlingCases(subject);
    postingCases(subject);
    transactionCases(subject);

    it('tells listeners what is announced', () => {
      const heard: News[] = [];
      store.listen((news) => heard.push(news));
      const news: News = { arrived: new Map([[store.nextId(), 2]]), changed: [store.nextId()] };
      store.announce(news);
      assert.deepEqual(heard, [news]);
    });

    it('answers a ping and keeps time', async () => {
      await store.ping();
      const before = store.now();
      await store.ping();
      assert.ok(Number.isInteger(before) && store.now() >= before - 1);
      assert.ok(Math.abs(before - Date.now()) < 60_000);
    });

    it('hands out no id twice and keeps its secret and messages when opened again', async () => {
      const again = await open();
      try {
        const { secret } = again.store;
        assert.equal(secret.length, 32);
        const ids = new Set(range(3).map(() => again.store.nextId()));
        let highest = Math.max(...ids);
        const first = using(again.store);
        const queue = await first.create('queue');
        const message = first.message();
        await first.post(queue, [message]);
        for (const _ of range(2)) {
          const store = await again.reopen();
          assert.ok(store.secret.equals(secret));
          const id = store.nextId();
          assert.ok(id > highest && id > message.id / 2);
          highest = id;
        }
        const store = await again.reopen();
        assert.deepEqual(idsOf(await using(store).claim(queue)), [message.id]);
      } finally {
        await again.close();
      }
    });
  });
}
