import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import { countsOf, follow, partLink, partsOf, poll, settle, stateOf } from '../steps.ts';
import type { Queue, Settings, World } from '../world.ts';

export function deadLetters(world: World): void {
  const { client } = world;

  /** A queue and its dead-letter queue, which is there from the beginning so that one can wait at it. */
  async function pair(settings: Settings = {}): Promise<{ queue: Queue; dead: Queue }> {
    const dead = await world.queue();
    return { dead, queue: await world.queue({ 'dead-letter': dead.name, 'max-deliveries': 1, ...settings }) };
  }

  /** Lets messages die of their only delivery, in order. */
  async function bury(queue: Queue, dead: Queue, texts: string[]): Promise<void> {
    await world.post(queue, texts);
    const poller = await follow(world, queue, 'poller');
    const parts = partsOf((await client.post(poller, { query: { max: texts.length } })).expect(200));
    for (const part of parts) {
      (await settle(client, client.store(partLink(part, 'acknowledgement')), { acknowledge: 'false' })).expect(204);
      await world.until('it is dead', async () => {
        return (await stateOf(client, client.store(partLink(part, 'self')))) === 'dead';
      });
    }
    await world.until('all lie there', async () => (await countsOf(client, dead)).available === texts.length);
  }

  it('A16 after max-deliveries a message goes to the dead-letter queue, with where it came from and a reason', async () => {
    const { queue, dead } = await pair({ 'max-deliveries': 2, lease: 0.2 });
    const headers = { 'content-type': 'text/x-job', 'x-mine': 'yes', link: '<http://a.example/>; rel="reply-to"' };
    const posted = (await client.post(queue.address, { headers, body: 'poison' })).expect(204);
    for (const count of [1, 2]) assert.equal((await poll(world, queue)).count, count);
    const letter = await poll(world, dead);
    assert.equal(letter.text, 'poison');
    assert.equal(client.store(letter.answer.link('generator')), queue.address);
    assert.equal(letter.answer.link('reply-to'), 'http://a.example/');
    assert.equal(letter.answer.headers['content-type'], 'text/x-job');
    assert.equal(letter.answer.headers['x-mine'], 'yes');
    assert.match(letter.answer.headers['message-dead-reason'] ?? '', /2/);
    assert.equal(await stateOf(client, client.store(posted.headers.location ?? '')), 'dead');
    assert.equal((await countsOf(client, queue)).dead, 1);
    const empty = (await client.get(queue.receiving)).expect(204);
    const described = (await client.get(queue.address)).expect(200);
    assert.equal(client.store(empty.link('dead-letter')), client.store(described.link('dead-letter')));
  });

  it('A16 given back for the last time is dead, too; acknowledged for the last time is not', async () => {
    const { queue, dead } = await pair();
    await world.post(queue, ['returned', 'done']);
    const [returned, done] = [await poll(world, queue), await poll(world, queue)];
    (await settle(client, done.acknowledgement, { acknowledge: 'true' })).expect(204);
    (await settle(client, returned.acknowledgement, { acknowledge: 'false' })).expect(204);
    assert.equal((await poll(world, dead)).text, 'returned');
    assert.equal(await stateOf(client, done.message), 'acknowledged');
    (await client.get(queue.receiving)).expect(204);
  });

  it('A16 the link of a delivery that ended in death is overtaken', async () => {
    const { queue, dead } = await pair({ lease: 0.2 });
    await world.post(queue, ['x']);
    const { acknowledgement } = await poll(world, queue);
    await poll(world, dead);
    for (const acknowledge of ['true', 'false']) {
      expectProblem(await settle(client, acknowledgement, { acknowledge }), 412);
    }
  });

  it('A3 the dead-letter queue is called <name>.dead unless told, comes with the first dead message, and is linked then', async () => {
    const queue = await world.queue({ 'max-deliveries': 1 });
    const address = await world.address('queue', `${queue.name}.dead`);
    assert.ok(!(await client.head(queue.address)).has('dead-letter'));
    (await client.head(address)).expect(404);
    await world.post(queue, ['x']);
    (await settle(client, (await poll(world, queue)).acknowledgement, { acknowledge: 'false' })).expect(204);
    await world.until('it is linked', async () => (await client.head(queue.address)).has('dead-letter'));
    assert.equal(await follow(world, queue, 'dead-letter'), address);
    const head = (await client.head(address)).expect(200);
    assert.ok(head.has('redrive'));
    assert.ok(!head.has('dead-letter'));
    const document = (await client.get(address)).expect(200).json();
    for (const name of ['max-deliveries', 'dead-letter']) assert.equal(document[name], undefined, name);
  });

  it('A16 in a dead-letter queue nothing dies again', async () => {
    const { queue, dead } = await pair({ 'max-deliveries': 1 });
    await bury(queue, dead, ['x']);
    for (let count = 1; count <= 12; count++) {
      const delivery = await poll(world, dead);
      assert.equal(delivery.count, count);
      (await settle(client, delivery.acknowledgement, { acknowledge: 'false' })).expect(204);
    }
    assert.deepEqual(await world.drain(dead), ['x']);
  });

  it('A16 redrive sends all of them back to where they came from, in order', async () => {
    const { queue, dead } = await pair();
    const other = await world.queue({ 'dead-letter': dead.name, 'max-deliveries': 1 });
    await bury(queue, dead, ['a', 'b', 'c']);
    await world.post(other, ['d']);
    (await settle(client, (await poll(world, other)).acknowledgement, { acknowledge: 'false' })).expect(204);
    await world.until('all lie there', async () => (await countsOf(client, dead)).available === 4);
    const answer = (await client.post(await follow(world, dead, 'redrive'))).expect(200);
    assert.equal(answer.json().redriven, 4);
    (await client.get(dead.receiving)).expect(204);
    const back = await poll(world, queue);
    assert.equal(back.count, 1, 'all its deliveries lie before it');
    assert.equal(client.store(back.answer.link('generator')), queue.address);
    assert.equal(back.answer.headers['message-dead-reason'], undefined);
    (await settle(client, back.acknowledgement, { acknowledge: 'true' })).expect(204);
    assert.equal(back.text, 'a');
    assert.deepEqual(await world.drain(queue), ['b', 'c']);
    assert.deepEqual(await world.drain(other), ['d']);
  });

  it('A16 redrive with max sends so many, the oldest first', async () => {
    const { queue, dead } = await pair();
    await bury(queue, dead, ['a', 'b', 'c']);
    const redrive = await follow(world, dead, 'redrive');
    assert.equal((await client.post(redrive, { query: { max: 2 } })).expect(200).json().redriven, 2);
    assert.deepEqual(await world.drain(queue), ['a', 'b']);
    assert.equal((await countsOf(client, dead)).available, 1);
    for (const max of ['0', '-1', 'all', '']) expectProblem(await client.post(redrive, { query: { max } }), 400);
    assert.equal((await client.post(redrive)).expect(200).json().redriven, 1);
    assert.equal((await client.post(redrive)).expect(200).json().redriven, 0);
    assert.deepEqual(await world.drain(queue), ['c']);
  });

  for (const [limit, texts, fits] of [
    [{ 'max-length': 2 }, ['a', 'b', 'c', 'd'], 2],
    // The third would fit by itself, but it does not overtake the one before it.
    [{ 'max-bytes': 6 }, ['four', 'more', 'x', 'y'], 1],
  ] as const) {
    it(`A16 redrive stops at ${Object.keys(limit)}: what fits goes, and the answer says why the rest stays`, async () => {
      const { queue, dead } = await pair();
      const other = await world.queue({ 'dead-letter': dead.name, 'max-deliveries': 1 });
      await bury(queue, dead, [...texts]);
      await world.post(other, ['another’s']);
      (await settle(client, (await poll(world, other)).acknowledgement, { acknowledge: 'false' })).expect(204);
      await world.until('all lie there', async () => (await countsOf(client, dead)).available === 5);
      const body = JSON.stringify({ 'dead-letter': dead.name, 'max-deliveries': 1, ...limit });
      (await client.put(queue.address, { headers: { 'content-type': 'application/json' }, body })).expect(200);

      const redrive = await follow(world, dead, 'redrive');
      const { redriven, full, 'stopped-by': by } = (await client.post(redrive)).expect(200).json();
      assert.deepEqual([redriven, by, full], [fits + 1, 'destination-full', [queue.name]]);
      assert.equal((await countsOf(client, queue)).available, fits);
      assert.deepEqual(await world.drain(other), ['another’s'], 'a full queue holds up no other');

      const refused = await client.post(redrive);
      assert.match(expectProblem(refused, 409).type, /\/destination-full$/);
      assert.equal((await countsOf(client, dead)).available, texts.length - fits);
      assert.deepEqual(await world.drain(queue), texts.slice(0, fits));
      const next = (await client.post(redrive, { query: { max: 1 } })).expect(200).json();
      assert.deepEqual([next.redriven, next['stopped-by'], next.full], [1, undefined, undefined]);
      assert.deepEqual(await world.drain(queue), texts.slice(fits, fits + 1));
    });
  }

  it('A16 redrives at once send each message back once', async () => {
    const { queue, dead } = await pair();
    const texts = ['a', 'b', 'c', 'd', 'e', 'f'];
    await bury(queue, dead, texts);
    const redrive = await follow(world, dead, 'redrive');
    const answers = await Promise.all(Array.from({ length: 6 }, () => client.post(redrive)));
    const counts = answers.map((answer) => Number(answer.expect(200).json().redriven));
    assert.equal(
      counts.reduce((sum, each) => sum + each, 0),
      texts.length,
    );
    assert.deepEqual((await world.drain(queue)).sort(), texts);
  });

  it('A16 A4 a redriven message lives as long as a new one of its queue, whatever it was when it died', async () => {
    const { queue, dead } = await pair();
    await bury(queue, dead, ['a', 'b']);
    const redrive = await follow(world, dead, 'redrive');
    (await client.post(redrive, { query: { max: 1 } })).expect(200);
    (
      await client.put(queue.address, {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ 'dead-letter': dead.name, ttl: 0.1 }),
      })
    ).expect(200);
    (await client.post(redrive)).expect(200);
    await world.until('one is over', async () => (await countsOf(client, queue)).available === 1);
    assert.deepEqual(await world.drain(queue), ['a']);
  });

  it('A16 a body, or a purge of some, is refused and nothing is done', async () => {
    const { queue, dead } = await pair();
    await bury(queue, dead, ['a', 'b']);
    const [purge, redrive] = [await follow(world, dead, 'purge'), await follow(world, dead, 'redrive')];
    for (const link of [purge, redrive]) {
      const refused = await client.post(link, { body: 'max=1' });
      expectProblem(refused, 400);
      assert.ok(refused.has('post-message'));
    }
    expectProblem(await client.post(purge, { query: { max: 1 } }), 400);
    assert.equal((await countsOf(client, dead)).available, 2);
  });

  it('A9 a redriven message wakes who waits for it', async () => {
    const { queue, dead } = await pair();
    await bury(queue, dead, ['x']);
    const waiting = await world.startWaiting('POST', queue.receiving);
    (await client.post(await follow(world, dead, 'redrive'))).expect(200);
    assert.equal((await waiting.answer).expect(200).text(), 'x');
  });

  it('A16 a message posted to the dead-letter queue itself came from nowhere else and stays', async () => {
    const { queue, dead } = await pair();
    await bury(queue, dead, ['dead']);
    await world.post(dead, ['direct'], { priority: 9 });
    assert.equal((await client.post(await follow(world, dead, 'redrive'))).expect(200).json().redriven, 1);
    assert.deepEqual(await world.drain(dead), ['direct']);
    assert.deepEqual(await world.drain(queue), ['dead']);
  });

  it('A16 purge empties a queue: what waits, what is delayed and what is leased', async () => {
    const queue = await world.queue();
    const [polled = ''] = await world.post(queue, ['leased', 'a', 'b']);
    await world.post(queue, ['later'], { delay: 60 });
    await world.post(queue, ['light'], { persistent: 'false' });
    const { acknowledgement } = await poll(world, queue);
    const purge = await follow(world, queue, 'purge');
    assert.equal((await client.post(purge)).expect(200).json().purged, 5);
    assert.deepEqual(await countsOf(client, queue), { available: 0, delayed: 0, leased: 0, dead: 0 });
    (await client.post(queue.receiving)).expect(204);
    expectProblem(await settle(client, acknowledgement, { acknowledge: 'false' }), 410);
    expectProblem(await client.get(polled), 410);
    assert.equal((await client.post(purge)).expect(200).json().purged, 0);
    await world.post(queue, ['new']);
    assert.deepEqual(await world.drain(queue), ['new']);
  });

  it('A16 an emptied queue can be deleted without force', async () => {
    const queue = await world.queue();
    await world.post(queue, ['x']);
    (await client.delete(queue.address)).expect(409);
    (await client.post(await follow(world, queue, 'purge'))).expect(200);
    (await client.delete(queue.address)).expect(204);
  });

  it('A6 an id of the client’s own is remembered when its message dies or is purged', async () => {
    const { queue, dead } = await pair();
    (await client.put(queue.message('dies'), { body: 'x' })).expect(201);
    (await settle(client, (await poll(world, queue)).acknowledgement, { acknowledge: 'false' })).expect(204);
    assert.equal((await poll(world, dead)).text, 'x');
    (await client.put(queue.message('dies'), { body: 'x' })).expect(200);
    (await client.put(queue.message('purged'), { body: 'y' })).expect(201);
    (await client.post(await follow(world, queue, 'purge'))).expect(200);
    (await client.put(queue.message('purged'), { body: 'y' })).expect(200);
    (await client.post(queue.receiving)).expect(204);
  });

  it('G4 an Accept that cannot be served does not hide what purge and redrive did', async () => {
    const { queue, dead } = await pair();
    await bury(queue, dead, ['x']);
    const headers = { accept: 'image/png' };
    const redriven = await client.post(await follow(world, dead, 'redrive'), { headers });
    assert.equal((await countsOf(client, queue)).available, redriven.expect(200, 406).status === 200 ? 1 : 0);
    await world.post(queue, ['y']);
    const purged = await client.post(await follow(world, queue, 'purge'), { headers });
    const { available = 0 } = await countsOf(client, queue);
    assert.equal(available > 0, purged.expect(200, 406).status === 406);
  });
}
