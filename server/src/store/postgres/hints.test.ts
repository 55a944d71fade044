/** The parts without a database: floors, the text of news, the clock. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClock } from './clock.ts';
import { createFloors, HEAD } from './floors.ts';
import { decodeNews, encodeNews, type Outgoing, restAfter } from './news.ts';

const at = (rank: number, ord: number) => ({ rank, ord });

describe('floors', () => {
  it('rise with claims and fall with what comes back', () => {
    const floors = createFloors(() => 0);
    floors.start(1).raise(at(5, 40));
    assert.deepEqual(floors.start(1).place, at(5, 40));
    assert.deepEqual(floors.start(2).place, HEAD);
    floors.start(1).raise(at(5, 30));
    assert.deepEqual(floors.start(1).place, at(5, 40));
    floors.lower(1, at(5, 60));
    assert.deepEqual(floors.start(1).place, at(5, 40));
    floors.lower(1, at(4, 90));
    assert.deepEqual(floors.start(1).place, at(4, 90));
    floors.forget(1);
    assert.deepEqual(floors.start(1).place, HEAD);
  });

  it('are not raised by a claim that looked before something came in', () => {
    const floors = createFloors(() => 0);
    const early = floors.start(1);
    floors.lower(1, at(5, 10));
    early.raise(at(5, 40));
    assert.deepEqual(floors.start(1).place, HEAD);
    const beforeForgetting = floors.start(1);
    floors.forget();
    beforeForgetting.raise(at(5, 40));
    assert.deepEqual(floors.start(1).place, HEAD);
  });

  it('are dropped after a second', () => {
    let now = 0;
    const floors = createFloors(() => now);
    floors.start(1).raise(at(5, 40));
    now = 1_001;
    assert.deepEqual(floors.start(1).place, HEAD);
  });

  it('tell announcements of posts from others', () => {
    const floors = createFloors(() => 0);
    floors.posted(1, 2, at(5, 40));
    floors.posted(1, 1, at(5, 30));
    assert.deepEqual(floors.takePosted(1, 1), at(5, 30));
    assert.deepEqual(floors.takePosted(1, 2), at(5, 30));
    assert.equal(floors.takePosted(1, 1), undefined);
  });
});

describe('news as text', () => {
  const outgoing = (more: Partial<Outgoing>): Outgoing => ({
    arrived: new Map(),
    changed: new Set(),
    everything: false,
    hello: false,
    ...more,
  });

  it('are followed by more at once when they were few, and after a rest when they were many', () => {
    const told = (...counts: number[]): number =>
      restAfter(outgoing({ arrived: new Map(counts.map((count, index) => [index, { count, lowest: undefined }])) }));
    assert.equal(told(), 0);
    assert.equal(told(3, 4), 0);
    assert.equal(told(20, 20), 5);
    assert.equal(told(100_000), 10);
  });

  it('comes back as it went, in payloads that PostgreSQL takes', () => {
    const arrived = new Map(
      Array.from({ length: 2_000 }, (_, index) => [
        2 ** 50 + index,
        { count: index + 1, lowest: index % 2 === 0 ? undefined : at(9, 2 ** 52 + index) },
      ]),
    );
    const changed = new Set(Array.from({ length: 3_000 }, (_, index) => 2 ** 51 + index));
    const payloads = encodeNews('node', outgoing({ arrived, changed }));
    assert.ok(payloads.length > 1 && payloads.every((payload) => Buffer.byteLength(payload) < 8_000));
    const back = payloads.map(decodeNews);
    assert.ok(back.every((news) => news?.node === 'node' && !news.everything));
    const counts = [...arrived].map(([destination, { count }]) => [destination, count]);
    assert.deepEqual(
      back.flatMap((news) => [...(news?.arrived ?? [])]),
      counts,
    );
    const lowest = [...arrived].map(([destination, each]) => [destination, each.lowest]);
    assert.deepEqual(
      back.flatMap((news) => [...(news?.lowest ?? [])]),
      lowest,
    );
    assert.deepEqual(
      back.flatMap((news) => news?.changed ?? []),
      [...changed],
    );
  });

  it('says hello and everything, and passes over what it does not know', () => {
    const [hello] = encodeNews('me', outgoing({ hello: true }));
    assert.deepEqual(decodeNews(hello ?? ''), {
      node: 'me',
      arrived: new Map(),
      lowest: new Map(),
      changed: [],
      everything: false,
    });
    const [all] = encodeNews('me', outgoing({ everything: true, changed: new Set([1]) }));
    assert.equal(decodeNews(all ?? '')?.everything, true);
    assert.equal(decodeNews('something else'), undefined);
  });
});

describe('clock', () => {
  it('takes the sample with the shortest round trip', async () => {
    let local = 1_000;
    const trips = [200, 20, 100];
    const clock = createClock(
      async () => {
        const trip = trips.shift() ?? 0;
        // The slow ones are asymmetric, and so wrong.
        const time = local + 500_000 + (trip === 20 ? 10 : 0);
        local += trip;
        return time;
      },
      () => local,
    );
    await clock.measure();
    assert.equal(clock.now(), local + 500_000);
  });

  it('keeps a good measurement while all it gets are worse ones, unless they refute it', async () => {
    let local = 1_000;
    let trip = 2;
    let ahead = 500_000;
    const clock = createClock(
      async () => {
        // All of the way is the way there.
        local += trip;
        return local + ahead;
      },
      () => local,
    );
    const offAfterMeasuring = async (): Promise<number> => {
      await clock.measure();
      return clock.now() - local - ahead;
    };
    assert.equal(await offAfterMeasuring(), 1);
    trip = 300;
    assert.equal(await offAfterMeasuring(), 1, 'another one would be wrong by 150');
    ahead += 60_000;
    assert.equal(await offAfterMeasuring(), 150, 'the clock of the database was set');
    trip = 2;
    assert.equal(await offAfterMeasuring(), 1);
    trip = 40;
    local += 3_600_000;
    assert.equal(await offAfterMeasuring(), 20, 'after an hour nobody knows how far they have drifted apart');
  });
});
