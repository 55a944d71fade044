/** Races of receivers: fencing holds, nothing is acknowledged and delivered again, nothing is lost. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Destination } from '../../src/messaging/destination.ts';
import type { ClaimedMessage } from '../../src/store/store.ts';
import {
  ACKNOWLEDGE,
  bodyOf,
  create,
  draft,
  type Nodes,
  outcomeOf,
  patient,
  poll,
  post,
  RETURN,
  race,
  range,
  receiveAll,
  redeliver,
  redeliverOn,
  SIXTEEN,
  settle,
  tally,
} from './nodes.ts';

const LEASE = 30;
const ROUNDS = range(6);

export function receivingRaces(nodes: () => Nodes): void {
  /** A queue with sixteen leased messages whose leases are over, which nobody has noted yet. */
  async function overdue(settings = {}): Promise<{ queue: Destination; held: readonly ClaimedMessage[] }> {
    const queue = await create(nodes(), 'queue', { lease: LEASE, ...settings });
    await race(SIXTEEN.map((turn) => () => post(nodes().node(turn), queue, `${turn}`)));
    const held = await poll(nodes().node(0), queue, 16);
    assert.equal(held.length, 16);
    nodes().clock.time += LEASE * 1000;
    return { queue, held };
  }

  const counts = (queue: Destination) => nodes().node(0).destinations.counts(queue);

  it('sixteen pollers over one message: one lease', async () => {
    const queue = await create(nodes(), 'queue');
    await post(nodes().node(0), queue, 'only');
    const taken = await race(SIXTEEN.map((turn) => () => poll(nodes().node(turn), queue)));
    assert.deepEqual(tally(taken.map(({ length }) => length)), { 1: 1, 0: 15 });
  });

  it('sixteen receivers and pollers over sixteen messages: none twice, none left behind', async () => {
    const queue = await create(nodes(), 'queue');
    await race(SIXTEEN.map((turn) => () => post(nodes().node(turn), queue, `${turn}`)));
    const taken = await race(
      SIXTEEN.map((turn) => async () => {
        const { receiving } = nodes().node(turn);
        const take = turn % 4 < 2 ? receiving.poll : receiving.receive;
        return (await take(queue, { max: 2, wait: 0 }, patient)).map(bodyOf);
      }),
    );
    const rest = await receiveAll(nodes().node(0), queue);
    assert.deepEqual([...taken.flat(), ...rest].toSorted(), SIXTEEN.map(String).toSorted());
  });

  it('an id that a client chose and that reads like one of another message: each verdict meets its own', async () => {
    const [queue, other] = [await create(nodes(), 'queue'), await create(nodes(), 'queue')];
    const node = nodes().node(0);
    const [id = 0] = await post(node, other, 'numbered');
    const chosen = node.publicId({ id, name: null });
    assert.equal(await outcomeOf(node.read(queue, chosen)), 'unknown-message', 'it lies in the other queue');
    assert.equal(await node.posting.put(queue.name, chosen, draft('named'), { wishes: {} }), true);
    const [[named], [numbered]] = [await poll(node, queue), await poll(node, other)];
    assert.ok(named !== undefined && numbered !== undefined);
    assert.equal(node.publicId(named), node.publicId(numbered));
    assert.deepEqual(
      await race([() => settle(node, queue, named, RETURN), () => settle(node, other, numbered, ACKNOWLEDGE)]),
      ['ok', 'ok'],
    );
    assert.deepEqual([await receiveAll(node, queue), await receiveAll(node, other)], [['named'], []]);
  });

  it('acknowledging against expiry and a second poller: acknowledged or delivered again, never both, never neither', async () => {
    for (const round of ROUNDS) {
      const { queue, held } = await overdue();
      const second: ClaimedMessage[] = [];
      const late = async (turn: number): Promise<void> => {
        await redeliverOn(nodes().node(turn));
        second.push(...(await poll(nodes().node(turn), queue, 3)));
      };
      const acknowledged = await Promise.all([
        ...held.map((message, turn) => settle(nodes().node(turn + round), queue, message, ACKNOWLEDGE)),
        ...SIXTEEN.map(async (turn) => {
          await late(turn);
          return undefined;
        }),
      ]);
      await redeliver(nodes());
      second.push(...(await poll(nodes().node(0), queue, 16)));
      const again = new Set(second.map(({ id }) => id));
      assert.equal(again.size, second.length, 'nobody holds what another holds');
      for (const [index, { id }] of held.entries()) {
        assert.equal(acknowledged[index], again.has(id) ? 'overtaken' : 'ok', `message ${index}`);
      }
      // Once answered, an acknowledgement stands.
      nodes().clock.time += LEASE * 1000;
      await redeliver(nodes());
      const third = await poll(nodes().node(1), queue, 16);
      assert.deepEqual(new Set(third.map(({ id }) => id)), again);
      for (const message of third) assert.equal(await settle(nodes().node(0), queue, message, ACKNOWLEDGE), 'ok');
    }
  });

  it('a late verdict of any kind is told that it was overtaken, and changes nothing', async () => {
    const { queue, held } = await overdue();
    await redeliver(nodes());
    const second = await poll(nodes().node(0), queue, 16);
    assert.equal(second.length, 16);
    const verdicts = [ACKNOWLEDGE, RETURN, { kind: 'extend', by: 60 }, { kind: 'return', delay: 5 }] as const;
    const outcomes = await race(
      held.flatMap((message) =>
        verdicts.map((verdict, turn) => () => settle(nodes().node(turn), queue, message, verdict)),
      ),
    );
    assert.deepEqual(tally(outcomes), { overtaken: 64 });
    assert.deepEqual(await counts(queue), { available: 0, delayed: 0, leased: 16, dead: 0 });
  });

  it('the same verdict sixteen times, and both verdicts against each other', async () => {
    const { queue, held } = await overdue();
    const [twice, switched] = held as [ClaimedMessage, ClaimedMessage];
    const same = await race(SIXTEEN.map((turn) => () => settle(nodes().node(turn), queue, twice, ACKNOWLEDGE)));
    assert.deepEqual(tally(same), { ok: 16 });
    const both = await race(
      SIXTEEN.map((turn) => () => settle(nodes().node(turn >> 1), queue, switched, turn % 2 ? ACKNOWLEDGE : RETURN)),
    );
    assert.deepEqual(tally(both), { ok: 16 });
    const bodies = (await receiveAll(nodes().node(0), queue)).filter((body) => body === bodyOf(switched));
    assert.ok(bodies.length <= 1);
  });

  it('switching verdicts against pollers: whoever gets the message overtakes the first', async () => {
    for (const _ of ROUNDS) {
      const queue = await create(nodes(), 'queue');
      await post(nodes().node(0), queue, 'one');
      const [first] = await poll(nodes().node(0), queue);
      assert.ok(first);
      const takers: ClaimedMessage[] = [];
      await race(
        SIXTEEN.map((turn) => async () => {
          if (turn % 4 === 3) takers.push(...(await poll(nodes().node(turn), queue)));
          else await settle(nodes().node(turn), queue, first, turn % 2 ? ACKNOWLEDGE : RETURN);
        }),
      );
      assert.ok(takers.length <= 1, 'one lease at a time');
      const verdict = await settle(nodes().node(1), queue, first, ACKNOWLEDGE);
      assert.equal(verdict, takers.length === 1 ? 'overtaken' : 'ok');
      for (const taker of takers) assert.equal(await settle(nodes().node(0), queue, taker, ACKNOWLEDGE), 'ok');
      await redeliver(nodes());
      assert.deepEqual(await counts(queue), { available: 0, delayed: 0, leased: 0, dead: 0 });
    }
  });

  it('extending at the last moment: the lease is renewed or the message goes to another, never both', async () => {
    for (const round of ROUNDS) {
      const { queue, held } = await overdue();
      const second: ClaimedMessage[] = [];
      const extended = await Promise.all([
        ...held.map((message, turn) =>
          settle(nodes().node(turn + round), queue, message, { kind: 'extend', by: 2 * LEASE }),
        ),
        ...range(8).map(async (turn) => {
          await redeliverOn(nodes().node(turn));
          second.push(...(await poll(nodes().node(turn), queue, 2)));
          return undefined;
        }),
      ]);
      const again = new Set(second.map(({ id }) => id));
      for (const [index, { id }] of held.entries()) {
        assert.equal(extended[index], again.has(id) ? 'overtaken' : 'ok', `message ${index}`);
      }
      // Whoever holds it can acknowledge it, and the other cannot.
      const holders = [...held.filter(({ id }) => !again.has(id)), ...second];
      const outcomes = await race(holders.map((message) => () => settle(nodes().node(0), queue, message, ACKNOWLEDGE)));
      assert.deepEqual(tally(outcomes), { ok: 16 });
    }
  });

  it('verdicts against the end of the last delivery: acknowledged or dead, and dead once', async () => {
    for (const round of ROUNDS) {
      const { queue, held } = await overdue({ 'max-deliveries': 1 });
      const outcomes = await Promise.all([
        ...held.map((message, turn) =>
          settle(nodes().node(turn + round), queue, message, turn % 2 ? ACKNOWLEDGE : RETURN),
        ),
        ...range(6).map(async (turn) => {
          await redeliverOn(nodes().node(turn));
          return 'ok';
        }),
      ]);
      await redeliver(nodes());
      const deadLetters = await nodes().node(0).destinations.find('queue', `${queue.name}.dead`);
      const dead = deadLetters === undefined ? [] : await receiveAll(nodes().node(1), deadLetters);
      const wanted = held.filter((_, turn) => turn % 2 === 0 || outcomes[turn] === 'overtaken').map(bodyOf);
      assert.deepEqual(dead.toSorted(), wanted.toSorted());
      assert.deepEqual(await receiveAll(nodes().node(0), queue), []);
    }
  });
}
