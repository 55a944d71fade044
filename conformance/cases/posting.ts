import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectAbsolute, expectProblem } from '../expect.ts';
import type { World } from '../world.ts';

/** Values that cannot be read. */
const BAD: Record<string, string[]> = {
  persistent: ['', 'maybe', 'TRUE', 'yes', '2', 'null'],
  delay: ['', '-1', 'soon', '1e3', 'NaN', 'PT5S', '99999999999999999999'],
  ttl: ['', '-1', 'never', '1e3', 'Infinity'],
  priority: ['', '-1', '10', '1.5', 'high', '4x'],
};

export function posting(world: World): void {
  const { client } = world;

  it('A4 the direct post answers 204 without a body, and the Location of the message', async () => {
    const queue = await world.queue();
    const answer = (await client.post(queue.address, { body: 'hello' })).expect(204);
    assert.equal(answer.body.length, 0);
    assert.equal(answer.headers['content-type'], undefined);
    expectAbsolute(answer.headers.location, 'Location');
    assert.equal((await client.get(answer.headers.location)).expect(200).text(), 'hello');
  });

  it('A4 post-message answers 201 with the Location of the message', async () => {
    for (const { address, kind } of [await world.queue(), await world.topic()]) {
      const factory = client.store((await client.head(address)).link('post-message'));
      const headers = { 'content-type': 'text/plain', 'x-mine': 'yes' };
      const answer = (await client.post(factory, { headers, body: 'hello', query: { persistent: 'true' } })).expect(
        201,
      );
      expectAbsolute(answer.headers.location, 'Location');
      const message = (await client.get(answer.headers.location)).expect(200);
      assert.equal(message.text(), 'hello', kind);
      assert.equal(message.headers['x-mine'], 'yes', kind);
    }
  });

  it('A4 every message has an address of its own', async () => {
    const queue = await world.queue();
    const addresses = await world.post(queue, ['same', 'same', 'same']);
    assert.equal(new Set(addresses).size, 3);
  });

  for (const [name, values] of Object.entries(BAD)) {
    it(`A4 a ${name} that cannot be read is 400 on every way of posting, and stores nothing`, async () => {
      const queue = await world.queue();
      const topic = await world.topic();
      const factory = client.store((await client.head(queue.address)).link('post-message'));
      for (const value of values) {
        const options = { body: 'x', query: { [name]: value } };
        const problem = expectProblem(await client.post(queue.address, options), 400);
        assert.deepEqual(
          problem.errors?.map(({ parameter }) => parameter),
          [name],
        );
        expectProblem(await client.post(topic.address, options), 400);
        expectProblem(await client.put(queue.message('x'), options), 400);
        expectProblem(await client.post(factory, options), 400);
      }
      expectProblem(await client.post(`${queue.address}?${name}=1&${name}=1`, { body: 'x' }), 400);
      (await client.post(queue.receiving)).expect(204);
    });
  }

  it('A4 an unreadable query does not create a queue', async () => {
    const address = await world.address('queue', world.name());
    expectProblem(await client.post(address, { query: { priority: 11 } }), 400);
    (await client.get(address)).expect(404);
  });

  it('A4 messages come in the order of their arrival', async () => {
    const queue = await world.queue();
    const texts = Array.from({ length: 20 }, (_, i) => `m${i}`);
    await world.post(queue, texts);
    assert.deepEqual(await world.drain(queue), texts);
  });

  it('A4 the higher priority comes first, then the arrival; the default is 4', async () => {
    const queue = await world.queue();
    for (const priority of [0, 9, 4, 5, 3, 9, 0]) await world.post(queue, [`p${priority}`], { priority });
    await world.post(queue, ['default']);
    assert.deepEqual(await world.drain(queue), ['p9', 'p9', 'p5', 'p4', 'default', 'p3', 'p0', 'p0']);
  });

  it('A4 within a priority the arrival counts', async () => {
    const queue = await world.queue();
    for (const text of ['a1', 'a2', 'a3']) await world.post(queue, [text], { priority: 7 });
    await world.post(queue, ['b1', 'b2'], { priority: 2 });
    await world.post(queue, ['a4'], { priority: 7 });
    assert.deepEqual(await world.drain(queue), ['a1', 'a2', 'a3', 'a4', 'b1', 'b2']);
  });

  it('A4 a delayed message is hidden until its time has come', async () => {
    const queue = await world.queue();
    const [hidden = ''] = await world.post(queue, ['hidden'], { delay: 60 });
    (await client.post(queue.receiving)).expect(204);
    (await client.get(queue.receiving)).expect(204);
    assert.equal((await client.get(hidden)).headers['message-state'], 'delayed');
    await world.post(queue, ['soon'], { delay: 0.3 });
    const received = await client.post(queue.receiving, { headers: { 'accept-wait': '20' } });
    assert.equal(received.expect(200).text(), 'soon');
    (await client.post(queue.receiving)).expect(204);
  });

  it('A4 a delay of 0 is none', async () => {
    const queue = await world.queue({ delay: 60 });
    await world.post(queue, ['now'], { delay: 0 });
    assert.deepEqual(await world.drain(queue), ['now']);
  });

  it('A4 a message whose ttl is over is not delivered', async () => {
    const queue = await world.queue();
    await world.post(queue, ['lives'], { ttl: 3600 });
    const short = await world.post(queue, ['one', 'two'], { ttl: 0.05, priority: 9 });
    for (const message of short) await world.untilState(message, 'expired');
    assert.deepEqual(await world.drain(queue), ['lives']);
  });

  it('A4 the ttl and delay of a queue hold for messages that say nothing', async () => {
    const queue = await world.queue({ ttl: 0.05 });
    const [short = ''] = await world.post(queue, ['short']);
    await world.post(queue, ['long'], { ttl: 60 });
    await world.untilState(short, 'expired');
    assert.deepEqual(await world.drain(queue), ['long']);
  });

  it('A4 true, false, 1 and 0 say whether a message is persistent', async () => {
    const queue = await world.queue();
    const values = ['true', 'false', '1', '0'];
    for (const persistent of values) await world.post(queue, [persistent], { persistent });
    assert.deepEqual(await world.drain(queue), values);
  });

  it('A5 messages that are not persistent keep their place in the order', async () => {
    const queue = await world.queue();
    const texts = Array.from({ length: 12 }, (_, i) => `m${i}`);
    for (const [i, text] of texts.entries()) await world.post(queue, [text], { persistent: String(i % 3 === 0) });
    await world.post(queue, ['first'], { persistent: 'false', priority: 8 });
    await world.post(queue, ['last'], { persistent: 'false', priority: 1 });
    assert.deepEqual(await world.drain(queue), ['first', ...texts, 'last']);
  });

  it('A5 a message that is not persistent is a message like any other', async () => {
    const queue = await world.queue();
    const headers = { 'content-type': 'text/x-note', 'x-mine': 'yes' };
    const posted = await client.post(queue.address, { headers, body: 'light', query: { persistent: 'false' } });
    const address = client.store(posted.expect(204).headers.location ?? '');
    for (const _ of client.bases) {
      const seen = (await client.get(address)).expect(200);
      assert.equal(seen.headers['message-state'], 'available');
      assert.equal(seen.text(), 'light');
    }
    const received = (await client.post(queue.receiving)).expect(200);
    assert.equal(received.headers['content-type'], 'text/x-note');
    assert.equal(received.headers['x-mine'], 'yes');
    assert.equal(client.store(received.headers['content-location'] ?? ''), address);
    assert.equal((await client.get(address)).expect(200).headers['message-state'], 'acknowledged');
  });

  it('A5 delay and ttl hold for it, too', async () => {
    const queue = await world.queue();
    await world.post(queue, ['hidden'], { persistent: 'false', delay: 60 });
    const [short = ''] = await world.post(queue, ['short'], { persistent: 'false', ttl: 0.05 });
    await world.untilState(short, 'expired');
    (await client.post(queue.receiving)).expect(204);
  });
}
