import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem, expectTime } from '../expect.ts';
import { countsOf, follow, poll, settle, stateOf } from '../steps.ts';
import type { Queue, Settings, World } from '../world.ts';
import { childText } from '../xml.ts';

const FORM = 'application/x-www-form-urlencoded';
/** The same verdict in each form it may have. */
const WAYS: Record<string, (verdict: Record<string, string | number | boolean>) => string> = {
  [FORM]: (verdict) =>
    new URLSearchParams(Object.entries(verdict).map(([name, value]) => [name, `${value}`])).toString(),
  'application/json': (verdict) => JSON.stringify(verdict),
  'application/xml': (verdict) => {
    const fields = Object.entries(verdict).map(([name, value]) => `<${name}>${value}</${name}>`);
    return `<acknowledgement>${fields.join('')}</acknowledgement>`;
  },
};

type State = { state: string; deliveries: number; newest: boolean; 'leased-until'?: string };

export function acknowledgement(world: World): void {
  const { client } = world;

  async function leased(settings: Settings = {}) {
    const queue = await world.queue(settings);
    await world.post(queue, ['job']);
    return { queue, ...(await poll(world, queue)) };
  }
  const look = async (link: string): Promise<State> => (await client.get(link)).expect(200).json<State>();
  const isEmpty = async (queue: Queue) => (await client.get(queue.receiving)).expect(204);

  for (const [type, write] of Object.entries(WAYS)) {
    it(`A15 acknowledge=true by ${type}: 204, and the message is off the queue`, async () => {
      const { queue, message, acknowledgement: link } = await leased();
      const answer = await client.post(link, { headers: { 'content-type': type }, body: write({ acknowledge: true }) });
      assert.equal(answer.expect(204).body.length, 0);
      assert.equal(await stateOf(client, message), 'acknowledged');
      assert.deepEqual(await countsOf(client, queue), { available: 0, delayed: 0, leased: 0, dead: 0 });
    });

    it(`A15 acknowledge=false by ${type}: 204, and the message is back at once`, async () => {
      const { queue, message, acknowledgement: link } = await leased();
      const body = write({ acknowledge: false });
      (await client.post(link, { headers: { 'content-type': type }, body })).expect(204);
      assert.equal(await stateOf(client, message), 'available');
      const again = await poll(world, queue, 0);
      assert.equal(again.message, message);
      assert.equal(again.count, 2);
    });

    it(`A15 delay and extend by ${type}`, async () => {
      const { message, acknowledgement: link } = await leased({ lease: 60 });
      const send = (verdict: Record<string, string | number | boolean>) =>
        client.post(link, { headers: { 'content-type': type }, body: write(verdict) });
      (await send({ extend: 1000 })).expect(204);
      const until = (await look(link))['leased-until'];
      assert.ok(Date.parse(String(until)) - Date.now() > 500_000, String(until));
      (await send({ acknowledge: false, delay: 90 })).expect(204);
      assert.equal(await stateOf(client, message), 'delayed');
    });
  }

  it('A15 a message given back keeps its place in the order', async () => {
    const queue = await world.queue();
    await world.post(queue, ['a', 'b', 'c']);
    const first = await poll(world, queue);
    (await settle(client, first.acknowledgement, { acknowledge: 'false' })).expect(204);
    assert.deepEqual(await world.drain(queue), ['a', 'b', 'c']);
  });

  it('A15 a message given back with a delay is hidden until it is over, then has its old place', async () => {
    const queue = await world.queue();
    await world.post(queue, ['a', 'b']);
    const { message, acknowledgement: link } = await poll(world, queue);
    (await settle(client, link, { acknowledge: 'false', delay: '0.5' })).expect(204);
    await world.until('it is the first again', async () => (await client.get(queue.receiving)).text() === 'a');
    const again = await poll(world, queue);
    assert.deepEqual([again.message, again.count], [message, 2]);
    assert.deepEqual(await world.drain(queue), ['b']);
  });

  it('A15 a waiter gets the delayed message when its time has come', async () => {
    const { queue, message, acknowledgement: link } = await leased();
    (await settle(client, link, { acknowledge: 'false', delay: '60' })).expect(204);
    (await client.post(await follow(world, queue, 'poller'))).expect(204);
    (await settle(client, link, { acknowledge: 'true' })).expect(204);
    (await settle(client, link, { acknowledge: 'false', delay: '0.4' })).expect(204);
    assert.equal((await poll(world, queue)).message, message);
  });

  it('A15 extend renews the lease: longer than it was', async () => {
    const { queue, message, acknowledgement: link } = await leased({ lease: 0.6 });
    (await settle(client, link, { extend: '300' })).expect(204);
    // This one becomes available after the first lease would have been over; the extended one stays hidden.
    await world.post(queue, ['later'], { delay: 1.2, priority: 0 });
    assert.equal((await poll(world, queue)).text, 'later');
    assert.equal(await stateOf(client, message), 'leased');
    (await settle(client, link, { acknowledge: 'true' })).expect(204);
  });

  it('A15 extend counts from now, so it can also shorten the lease', async () => {
    const { queue, acknowledgement: link } = await leased({ lease: 600 });
    (await settle(client, link, { extend: '0.2' })).expect(204);
    assert.equal((await poll(world, queue)).count, 2);
  });

  it('A15 the same verdict again is 204 and changes nothing', async () => {
    const { queue, message, acknowledgement: link } = await leased();
    for (let i = 0; i < 3; i++) (await settle(client, link, { acknowledge: 'false' })).expect(204);
    assert.equal((await countsOf(client, queue)).available, 1);
    for (let i = 0; i < 3; i++) (await settle(client, link, { acknowledge: 'true' })).expect(204);
    assert.equal(await stateOf(client, message), 'acknowledged');
    await isEmpty(queue);
  });

  it('A15 the same verdict from many at once is 204 for each', async () => {
    for (const acknowledge of ['true', 'false']) {
      const { queue, acknowledgement: link } = await leased();
      const answers = await Promise.all(Array.from({ length: 12 }, () => settle(client, link, { acknowledge })));
      for (const answer of answers) answer.expect(204);
      assert.deepEqual(await world.drain(queue), acknowledge === 'true' ? [] : ['job']);
    }
  });

  it('A15 a verdict can be switched in both directions while this delivery is the newest', async () => {
    const { queue, message, acknowledgement: link } = await leased();
    for (const acknowledge of ['true', 'false', 'true', 'false', 'true']) {
      (await settle(client, link, { acknowledge })).expect(204);
      assert.equal(await stateOf(client, message), acknowledge === 'true' ? 'acknowledged' : 'available');
    }
    await isEmpty(queue);
    (await settle(client, link, { acknowledge: 'false' })).expect(204);
    assert.deepEqual(await world.drain(queue), ['job']);
  });

  it('A15 from acknowledged to delayed, from delayed to acknowledged, from given back to leased', async () => {
    const { queue, message, acknowledgement: link } = await leased();
    (await settle(client, link, { acknowledge: 'true' })).expect(204);
    (await settle(client, link, { acknowledge: 'false', delay: '90' })).expect(204);
    assert.equal(await stateOf(client, message), 'delayed');
    (await settle(client, link, { acknowledge: 'true' })).expect(204);
    assert.equal(await stateOf(client, message), 'acknowledged');
    (await settle(client, link, { acknowledge: 'false' })).expect(204);
    (await settle(client, link, { extend: '60' })).expect(204);
    assert.equal(await stateOf(client, message), 'leased');
    await isEmpty(queue);
  });

  it('A15 extend after its own acknowledgement: 409, it was not overtaken, and nothing changes', async () => {
    const { message, acknowledgement: link } = await leased();
    (await settle(client, link, { acknowledge: 'true' })).expect(204);
    expectProblem(await settle(client, link, { extend: '60' }), 409);
    assert.equal(await stateOf(client, message), 'acknowledged');
    assert.equal((await look(link)).newest, true);
    (await settle(client, link, { acknowledge: 'true' })).expect(204);
  });

  it('A15 a link overtaken by a newer delivery: 412 for every verdict, and the newer one is not disturbed', async () => {
    const { queue, message, acknowledgement: old } = await leased();
    (await settle(client, old, { acknowledge: 'false' })).expect(204);
    const { acknowledgement: link } = await poll(world, queue);
    assert.notEqual(link, old);
    const verdicts = [
      { acknowledge: 'true' },
      { acknowledge: 'false' },
      { acknowledge: 'false', delay: '5' },
      { extend: '5' },
    ];
    for (const verdict of verdicts) expectProblem(await settle(client, old, verdict), 412);
    assert.equal(await stateOf(client, message), 'leased');
    assert.equal((await look(old)).newest, false);
    assert.equal((await look(link)).newest, true);
    (await settle(client, link, { acknowledge: 'true' })).expect(204);
    for (const verdict of verdicts) expectProblem(await settle(client, old, verdict), 412);
    assert.equal(await stateOf(client, message), 'acknowledged');
  });

  it('A15 a message that somebody received for good overtakes the link, too', async () => {
    const { queue, message, acknowledgement: link } = await leased();
    (await settle(client, link, { acknowledge: 'false' })).expect(204);
    assert.deepEqual(await world.drain(queue), ['job']);
    expectProblem(await settle(client, link, { acknowledge: 'false' }), 412);
    assert.equal(await stateOf(client, message), 'acknowledged');
    await isEmpty(queue);
  });

  it('A15 of a switch that races the next delivery, one wins: never both', async () => {
    for (let i = 0; i < 4; i++) {
      const { queue, acknowledgement: link } = await leased();
      (await settle(client, link, { acknowledge: 'false' })).expect(204);
      const at = await follow(world, queue, 'poller');
      const [polled, verdict] = await Promise.all([client.post(at), settle(client, link, { acknowledge: 'true' })]);
      assert.deepEqual([polled.status, verdict.status], polled.status === 200 ? [200, 412] : [204, 204]);
    }
  });

  it('A15 neither field, or a body that cannot be read: 400, and nothing changes', async () => {
    const { message, acknowledgement: link } = await leased();
    for (const body of ['', 'other=1', 'delay=5']) {
      expectProblem(await client.post(link, { headers: { 'content-type': FORM }, body }), 400);
    }
    expectProblem(await client.post(link), 400);
    for (const body of ['{}', '{', '[]']) {
      expectProblem(await client.post(link, { headers: { 'content-type': 'application/json' }, body }), 400);
    }
    for (const body of ['<acknowledgement/>', '<acknowledgement>']) {
      expectProblem(await client.post(link, { headers: { 'content-type': 'application/xml' }, body }), 400);
    }
    assert.equal(await stateOf(client, message), 'leased');
  });

  it('G6 a verdict that can be read and is wrong: 422 pointing at the field, and nothing changes', async () => {
    const { message, acknowledgement: link } = await leased();
    const wrong = [
      [FORM, 'acknowledge=', '/acknowledge'],
      [FORM, 'acknowledge=maybe', '/acknowledge'],
      [FORM, 'extend=soon', '/extend'],
      [FORM, 'extend=-1', '/extend'],
      [FORM, 'acknowledge=false&delay=-1', '/delay'],
      [FORM, 'acknowledge=true&delay=1', '/delay'],
      ['application/json', '{"acknowledge":"perhaps"}', '/acknowledge'],
      ['application/json', '{"acknowledge":{}}', '/acknowledge'],
      ['application/xml', '<acknowledgement><extend>soon</extend></acknowledgement>', '/extend'],
    ] as const;
    for (const [type, body, pointer] of wrong) {
      const { errors } = expectProblem(await client.post(link, { headers: { 'content-type': type }, body }), 422);
      assert.deepEqual(
        errors?.map((error) => error.pointer),
        [pointer],
        body,
      );
    }
    expectProblem(await settle(client, link, { acknowledge: 'true', extend: '5' }), 422);
    assert.equal(await stateOf(client, message), 'leased');
  });

  it('A15 a body of another kind is 415 with Accept-Post', async () => {
    const { message, acknowledgement: link } = await leased();
    const answer = await client.post(link, { headers: { 'content-type': 'text/plain' }, body: 'acknowledge=true' });
    expectProblem(answer, 415);
    assert.match(answer.headers['accept-post'] ?? '', /application\/x-www-form-urlencoded/);
    assert.equal(await stateOf(client, message), 'leased');
  });

  it('A15 GET tells the present state, on every node, and changes nothing', async () => {
    const { message, acknowledgement: link } = await leased();
    for (const _ of client.bases) {
      const { 'leased-until': until, ...state } = await look(link);
      assert.deepEqual(
        { state: state.state, deliveries: state.deliveries, newest: state.newest },
        { state: 'leased', deliveries: 1, newest: true },
      );
      expectTime(until, 'leased-until');
    }
    (await settle(client, link, { acknowledge: 'false' })).expect(204);
    assert.equal((await look(link)).state, 'available');
    (await settle(client, link, { acknowledge: 'true' })).expect(204);
    assert.equal((await look(link)).state, 'acknowledged');
    assert.equal(await stateOf(client, message), 'acknowledged');
  });

  it('A15 GET has its twin in XML, and links', async () => {
    const { message, acknowledgement: link } = await leased();
    const answer = (await client.get(link, { headers: { accept: 'application/xml' } })).expect(200);
    assert.equal(answer.xml().name, 'acknowledgement');
    assert.equal(childText(answer.xml(), 'state'), 'leased');
    assert.equal(client.store(answer.link('self')), link);
    assert.equal(client.store(answer.link('acknowledgement')), link);
    assert.equal(client.store(answer.link('about')), message);
  });

  it('A15 a link with a slip in it was never one: 404, and nothing is settled; an overtaken one is 412', async () => {
    const { queue, message, acknowledgement: link } = await leased();
    const slips = [1, 4, 8].map((back) => {
      const at = link.length - back;
      return `${link.slice(0, at)}${link[at] === '7' ? '8' : '7'}${link.slice(at + 1)}`;
    });
    for (const slip of [...slips, link.slice(0, -1), `${link}0`]) {
      for (const acknowledge of ['true', 'false']) expectProblem(await settle(client, slip, { acknowledge }), 404);
      expectProblem(await client.get(slip), 404);
    }
    assert.equal(await stateOf(client, message), 'leased');
    (await settle(client, link, { acknowledge: 'false' })).expect(204);
    await poll(world, queue);
    expectProblem(await settle(client, link, { acknowledge: 'true' }), 412);
    for (const slip of slips) expectProblem(await settle(client, slip, { acknowledge: 'true' }), 404);
  });

  it('A15 the verdict on a message that was deleted meanwhile is 410', async () => {
    const { message, acknowledgement: link } = await leased();
    (await client.delete(message)).expect(204);
    for (const acknowledge of ['true', 'false']) expectProblem(await settle(client, link, { acknowledge }), 410);
  });

  it('A15 a verdict cannot be switched when the message is no longer retained: 410', async () => {
    const { message, acknowledgement: link } = await leased({ retention: 0.2 });
    (await settle(client, link, { acknowledge: 'true' })).expect(204);
    await world.until('the message is gone', async () => (await client.get(message)).status !== 200);
    expectProblem(await settle(client, link, { acknowledge: 'false' }), 404, 410);
    expectProblem(await client.get(link), 404, 410);
  });
}
