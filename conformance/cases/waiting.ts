import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import type { World } from '../world.ts';

const BAD = ['long', '-1', '1e3', 'NaN', '5s', '1,2', 'PT5S', ''];

export function waiting(world: World): void {
  const { client } = world;

  for (const [name, headers] of Object.entries({
    'Accept-Wait': { 'accept-wait': '30' },
    'Prefer: wait': { prefer: 'wait=30' },
  })) {
    it(`A9 ${name}: a waiting receiver gets the message that comes`, async () => {
      const queue = await world.queue();
      const exchange = await world.startWaiting('POST', queue.receiving, { headers });
      await world.post(queue, ['come']);
      assert.equal((await exchange.answer).expect(200).text(), 'come');
      (await client.post(queue.receiving)).expect(204);
    });
  }

  it('A9 a waiter on any node is woken by a post on any node', async () => {
    const queue = await world.queue();
    for (const waiterAt of client.bases) {
      for (const posterAt of client.bases) {
        const exchange = await world.startWaiting('POST', `${waiterAt}${queue.receiving}`);
        (await client.post(`${posterAt}${queue.address}`, { body: posterAt })).expect(204);
        assert.equal((await exchange.answer).expect(200).text(), posterAt);
      }
    }
  });

  it('A9 every way of posting wakes a waiter', async () => {
    const queue = await world.queue();
    const ways: Record<string, () => Promise<unknown>> = {
      light: () => world.post(queue, ['light'], { persistent: 'false' }),
      named: () => client.put(queue.message('named'), { body: 'named' }),
      delayed: () => world.post(queue, ['delayed'], { delay: 0.2 }),
    };
    for (const [text, post] of Object.entries(ways)) {
      const exchange = await world.startWaiting('POST', queue.receiving);
      await post();
      assert.equal((await exchange.answer).expect(200).text(), text);
    }
  });

  it('A9 who looks with GET waits, too, and takes nothing', async () => {
    const queue = await world.queue();
    const exchange = await world.startWaiting('GET', queue.receiving);
    await world.post(queue, ['come']);
    assert.equal((await exchange.answer).expect(200).text(), 'come');
    assert.deepEqual(await world.drain(queue), ['come']);
  });

  it('A9 a message that is there is given at once', async () => {
    const queue = await world.queue();
    await world.post(queue, ['there']);
    const answer = await client.post(queue.receiving, { headers: { 'accept-wait': '60' }, timeout: 30_000 });
    assert.equal(answer.expect(200).text(), 'there');
  });

  it('A9 nothing came: 204 with the links repeated', async () => {
    const queue = await world.queue();
    for (const wait of ['0', '0.2', '0.05', '1']) {
      const answer = (await client.post(queue.receiving, { headers: { 'accept-wait': wait } })).expect(204);
      assert.equal(client.store(answer.link('receiving')), queue.receiving);
    }
  });

  it('A9 a longer wait than the server allows is cut, not refused', async () => {
    const queue = await world.queue();
    const headers = { 'accept-wait': '100000' };
    const exchange = await world.startWaiting('POST', queue.receiving, { headers });
    await world.post(queue, ['come']);
    (await exchange.answer).expect(200);
  });

  it('A9 an Accept-Wait that cannot be read is 400 and takes nothing', async () => {
    const queue = await world.queue();
    await world.post(queue, ['x']);
    for (const wait of BAD) {
      for (const method of ['POST', 'GET']) {
        expectProblem(await client.send(method, queue.receiving, { headers: { 'accept-wait': wait } }), 400);
      }
    }
    assert.deepEqual(await world.drain(queue), ['x']);
  });

  it('A9 a Prefer: wait that cannot be read is ignored', async () => {
    const queue = await world.queue();
    for (const wait of BAD.filter((each) => each !== '1,2')) {
      const headers = { prefer: `wait=${wait}` };
      (await client.post(queue.receiving, { headers, timeout: 20_000 })).expect(204);
    }
  });

  it('A9 Accept-Wait goes before Prefer: wait', async () => {
    const queue = await world.queue();
    const headers = { 'accept-wait': '0', prefer: 'wait=60' };
    (await client.post(queue.receiving, { headers, timeout: 20_000 })).expect(204);
  });

  it('A9 one message wakes one waiter', async () => {
    await world.inTime(2, async (seconds) => {
      const queue = await world.queue();
      const headers = { 'accept-wait': `${seconds}` };
      const exchanges = [];
      for (let i = 0; i < 3; i++) exchanges.push(await world.startWaiting('POST', queue.receiving, { headers }));
      await world.post(queue, ['only']);
      const answers = await Promise.all(exchanges.map(({ answer }) => answer));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 204, 204]);
    });
  });

  it('A9 each waiter gets a message of its own', async () => {
    const queue = await world.queue();
    const exchanges = [];
    for (let i = 0; i < 6; i++) exchanges.push(await world.startWaiting('POST', queue.receiving));
    const posted = Array.from({ length: 6 }, (_, i) => `m${i}`);
    await Promise.all(posted.map((text) => world.post(queue, [text])));
    const answers = await Promise.all(exchanges.map(({ answer }) => answer));
    assert.deepEqual(answers.map((answer) => answer.expect(200).text()).sort(), posted);
  });

  it('A9 nothing is taken for a client that has hung up', async () => {
    const queue = await world.queue();
    for (let i = 0; i < 4; i++) await world.hangUp(await world.startWaiting('POST', queue.receiving));
    const [address = ''] = await world.post(queue, ['kept']);
    // A look that was under way when the client hung up may have found it; then it is put back.
    await world.untilState(address, 'available');
    const received = await client.post(queue.receiving, { headers: { 'accept-wait': '20' } });
    assert.equal(received.expect(200).text(), 'kept');
  });

  it('A9 the message goes to the waiter that is still there', async () => {
    const queue = await world.queue();
    const first = await world.startWaiting('POST', queue.receiving);
    const second = await world.startWaiting('POST', queue.receiving);
    await world.hangUp(first);
    await world.post(queue, ['come']);
    assert.equal((await second.answer).expect(200).text(), 'come');
  });

  it('A9 one who looks does not keep the message from one who takes', async () => {
    const queue = await world.queue();
    const looking = await world.startWaiting('GET', queue.receiving);
    const taking = await world.startWaiting('POST', queue.receiving);
    await world.post(queue, ['come']);
    assert.equal((await taking.answer).expect(200).text(), 'come');
    // The one who looks may have been too late; the next message is for it.
    await world.post(queue, ['next']);
    (await looking.answer).expect(200);
    assert.deepEqual(await world.drain(queue), ['next']);
  });
}
