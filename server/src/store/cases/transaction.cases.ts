/** What every engine shows of transactions. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { range, type Subject } from './tools.ts';

export function transactionCases(subject: Subject): void {
  describe('transactions', () => {
    const chainOf = (chain: number) =>
      subject.store.read((tx) => tx.get<{ n: number }>('SELECT n FROM once_chain WHERE chain = $1', [chain]));
    const insert = 'INSERT INTO once_chain (chain, n, expires) VALUES ($1, 1, 1)';

    it('leave nothing of a job that throws', async () => {
      const chain = subject.store.nextId();
      const job = subject.store.transaction(async (tx) => {
        await tx.run(insert, [chain]);
        throw new RangeError('no');
      });
      await assert.rejects(job, RangeError);
      assert.equal(await chainOf(chain), undefined);
    });

    it('keep apart from others: a failing one harms no other', async () => {
      const chains = range(40).map(() => subject.store.nextId());
      const results = await Promise.allSettled(
        chains.map((chain, index) =>
          subject.store.transaction(async (tx) => {
            await tx.run(insert, [chain]);
            if (index % 8 === 3) throw new RangeError('no');
            if (index % 8 === 5) await tx.run(insert, [chain]);
            if (index % 8 === 7) await tx.run('this is no SQL');
            return index;
          }),
        ),
      );
      for (const [index, result] of results.entries()) {
        const fails = [3, 5, 7].includes(index % 8);
        assert.equal(result.status, fails ? 'rejected' : 'fulfilled', `job ${index}`);
        assert.equal((await chainOf(chains[index] as number)) === undefined, fails, `row ${index}`);
      }
    });

    it('run a last statement with the commit, and none after it', async () => {
      const [first, last, after] = range(3).map(() => subject.store.nextId()) as [number, number, number];
      let refused: unknown;
      await subject.store.transaction(async (tx) => {
        await tx.run(insert, [first]);
        await tx.finish(insert, [last]);
        refused = await tx.run(insert, [after]).catch((error) => error);
      });
      assert.ok(refused instanceof Error);
      assert.deepEqual(await Promise.all([first, last, after].map(async (chain) => (await chainOf(chain))?.n)), [
        1,
        1,
        undefined,
      ]);
    });

    it('leave nothing when the last statement fails, or the job after it', async () => {
      const chains = range(2).map(() => subject.store.nextId());
      const jobs = chains.map((chain, index) =>
        subject.store.transaction(async (tx) => {
          await tx.run(insert, [chain]);
          await tx.finish(index === 0 ? insert : 'UPDATE once_chain SET n = 2 WHERE chain = $1', [chain]);
          throw new RangeError('no');
        }),
      );
      const failing = subject.store.nextId();
      const unique = subject.store.transaction(async (tx) => {
        await tx.run(insert, [failing]);
        await tx.finish(insert, [failing]);
      });
      const results = await Promise.allSettled([...jobs, unique]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ['rejected', 'rejected', 'rejected'],
      );
      for (const chain of [...chains, failing]) assert.equal(await chainOf(chain), undefined);
    });

    it('reject a job that breaks a unique rule, however many try', async () => {
      const chain = subject.store.nextId();
      const results = await Promise.allSettled(
        range(16).map(() => subject.store.transaction((tx) => tx.run(insert, [chain]))),
      );
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    });

    it('tell how many rows changed and give lists a meaning', async () => {
      const chains = range(5).map(() => subject.store.nextId());
      const { dialect } = subject.store;
      const changed = await subject.store.transaction(async (tx) => {
        for (const chain of chains) await tx.run(insert, [chain]);
        const text = `UPDATE once_chain SET n = n + 1 WHERE chain ${dialect.inList('$1')}`;
        return [await tx.run(text, [dialect.list(chains.slice(1, 4))]), await tx.run(text, [dialect.list([])])];
      });
      assert.deepEqual(changed, [3, 0]);
    });

    it('lose no update when sixteen count on the same row', async () => {
      const chain = subject.store.nextId();
      await subject.store.transaction((tx) => tx.run(insert, [chain]));
      await Promise.all(
        range(16).map(() =>
          subject.store.transaction(async (tx) => {
            const text = `SELECT n FROM once_chain WHERE chain = $1 ${tx.dialect.forUpdate}`;
            const row = await tx.get<{ n: number }>(text, [chain]);
            await tx.run('UPDATE once_chain SET n = $1 WHERE chain = $2', [(row?.n ?? 0) + 1, chain]);
          }),
        ),
      );
      assert.equal((await chainOf(chain))?.n, 17);
    });
  });
}
