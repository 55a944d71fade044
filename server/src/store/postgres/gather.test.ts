import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem } from '../../problems.ts';
import { connectionLost } from './errors.ts';
import { AGAIN, type Budget, createGatherer, type GatherOptions } from './gather.ts';

interface Call {
  readonly name: string;
  readonly bytes?: number;
  readonly key?: number;
}

/** A gatherer whose batches end when the test says so. */
function trial(more: Partial<GatherOptions<Call, string>> = {}, budget: Budget = { used: 0, limit: 1_000_000 }) {
  const batches: { names: string[]; lane: number; answer: (outcome?: unknown) => void }[] = [];
  const gatherer = createGatherer<Call, string>({
    lanes: 1,
    budget,
    maxCalls: 4,
    maxWeight: 4,
    maxBytes: 100_000,
    aloneBytes: 10_000,
    bytes: ({ bytes = 0 }) => bytes,
    key: ({ key }) => key,
    isDataError: (error) => !(error instanceof Problem),
    run: (calls, lane) =>
      new Promise((resolve, reject) => {
        const names = calls.map(({ name }) => name);
        const answer = (outcome: unknown = names): void => {
          if (Array.isArray(outcome)) resolve(outcome);
          else reject(outcome);
        };
        batches.push({ names, lane, answer });
      }),
    ...more,
  });
  const submit = (...names: (string | Call)[]): Promise<PromiseSettledResult<string>[]> =>
    Promise.allSettled(names.map((name) => gatherer.submit(typeof name === 'string' ? { name } : name)));
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const names = (): string => batches.map((batch) => batch.names.join('')).join(' ');
  return { batches, submit, turn, names, gatherer };
}

const outcomes = (results: PromiseSettledResult<string>[]): unknown[] =>
  results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason));

describe('gatherer', { timeout: 30_000 }, () => {
  it('sends what came in one turn together, and what came meanwhile next', async () => {
    const { submit, turn, batches, names } = trial();
    const first = submit('a', 'b');
    await turn();
    const second = submit('c', 'd', 'e', 'f', 'g');
    await turn();
    assert.equal(names(), 'ab');
    batches[0]?.answer();
    assert.deepEqual(outcomes(await first), ['a', 'b']);
    await turn();
    assert.equal(names(), 'ab cdef');
    batches[1]?.answer();
    await turn();
    batches[2]?.answer();
    assert.deepEqual(outcomes(await second), ['c', 'd', 'e', 'f', 'g']);
  });

  it('keeps a small batch back while a larger one is away', async () => {
    const { submit, turn, batches, names } = trial({ lanes: 2, maxCalls: 100, maxWeight: 100 });
    const all = [submit('a', 'b', 'c')];
    await turn();
    all.push(submit('d', 'e', 'f', 'g'));
    await turn();
    assert.equal(names(), 'abc');
    all.push(submit('h'));
    await turn();
    assert.equal(names(), 'abc defgh');
    all.push(submit('i'));
    batches[0]?.answer();
    await turn();
    assert.equal(names(), 'abc defgh');
    batches[1]?.answer();
    await turn();
    assert.equal(names(), 'abc defgh i');
    batches[2]?.answer();
    await Promise.all(all);
  });

  it('lets a small batch leave beside another when it is alone in its lane or heavy', async () => {
    const { submit, turn, batches, names } = trial({ lanes: 2, maxCalls: 100, maxWeight: 100, aloneBytes: 90_000 });
    const lone = [submit('a')];
    await turn();
    lone.push(submit('b'));
    await turn();
    assert.equal(names(), 'a b');
    for (const batch of batches) batch.answer();
    await Promise.all(lone);
    const all = [submit('c', 'd', 'e')];
    await turn();
    all.push(submit({ name: 'f', bytes: 70_000 }));
    await turn();
    assert.equal(names(), 'a b cde f');
    for (const batch of batches) batch.answer();
    await Promise.all(all);
  });

  it('uses its lanes side by side', async () => {
    const { submit, turn, batches, gatherer } = trial({ lanes: 2 });
    const all = submit('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
    await turn();
    assert.deepEqual(
      batches.map(({ lane }) => lane),
      [0, 1],
    );
    for (const batch of batches) batch.answer();
    await all;
    await gatherer.idle();
  });

  it('sends large calls alone', async () => {
    const { submit, turn, batches, names } = trial();
    const all = submit('a', { name: 'L', bytes: 20_000 }, 'b', 'c');
    for (const index of [0, 1, 2]) {
      await turn();
      batches[index]?.answer();
    }
    await all;
    assert.equal(names(), 'a L bc');
  });

  it('keeps calls with the same key apart, in their order', async () => {
    const { submit, turn, batches, names } = trial();
    const all = submit({ name: 'a', key: 1 }, { name: 'b', key: 1 }, { name: 'c', key: 2 }, { name: 'd', key: 1 });
    for (const index of [0, 1, 2]) {
      await turn();
      batches[index]?.answer();
    }
    assert.deepEqual(outcomes(await all), ['a', 'b', 'c', 'd']);
    assert.equal(names(), 'ac b d');
  });

  it('puts a call that was not served at the head of the next batch', async () => {
    const { submit, turn, batches, names } = trial();
    const all = submit('a', 'b', 'c', 'd', 'e');
    await turn();
    batches[0]?.answer(['a', AGAIN, 'c', 'd']);
    await turn();
    batches[1]?.answer();
    assert.deepEqual(outcomes(await all), ['a', 'b', 'c', 'd', 'e']);
    assert.equal(names(), 'abcd be');
  });

  it('runs the calls one by one after a data error, once', async () => {
    const wrong = new Error('poisoned');
    const { submit, turn, batches, names } = trial();
    const all = submit('a', 'b', 'c');
    for (const [index, outcome] of [wrong, undefined, wrong, undefined].entries()) {
      await turn();
      batches[index]?.answer(outcome);
    }
    assert.deepEqual(outcomes(await all), ['a', wrong, 'c']);
    assert.equal(names(), 'abc a b c');
  });

  it('does not repeat a batch whose outcome is unknown', async () => {
    const lost = connectionLost();
    const { submit, turn, batches, names } = trial();
    const all = submit('a', 'b');
    await turn();
    batches[0]?.answer(lost);
    assert.deepEqual(outcomes(await all), [lost, lost]);
    await turn();
    assert.equal(names(), 'ab');
  });

  it('repeats a batch that the server undid, a few times', async () => {
    const deadlock = Object.assign(new Error('deadlock'), { code: '40P01' });
    const { submit, turn, batches } = trial();
    const all = submit('a', 'b');
    for (const index of [0, 1, 2, 3]) {
      await turn();
      batches[index]?.answer(deadlock);
    }
    for (const reason of outcomes(await all)) assert.ok(reason instanceof Problem && reason.code === 'busy');
    assert.equal(batches.length, 4);
  });

  it('refuses what would wait beyond its budget, and takes more when there is room', async () => {
    const budget: Budget = { used: 0, limit: 10_000 };
    const { submit, turn, batches } = trial({}, budget);
    const first = submit({ name: 'a', bytes: 5_000 });
    const [refused] = outcomes(await submit({ name: 'b', bytes: 5_000 }));
    assert.ok(refused instanceof Problem && refused.code === 'busy' && refused.extras.headers?.['Retry-After'] === '1');
    await turn();
    batches[0]?.answer();
    await first;
    assert.equal(budget.used, 0);
    const second = submit({ name: 'c', bytes: 5_000 });
    await turn();
    batches[1]?.answer();
    assert.deepEqual(outcomes(await second), ['c']);
  });
});
