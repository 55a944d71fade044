import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer } from '../client.ts';
import { expectProblem, expectTime, lastingFields } from '../expect.ts';
import type { World } from '../world.ts';

export function messageResource(world: World): void {
  const { client } = world;
  const stateOf = (answer: Answer): string | undefined => answer.expect(200).headers['message-state'];

  it('A11 GET shows a message without consuming it, on every node', async () => {
    const queue = await world.queue();
    const [address = ''] = await world.post(queue, ['x']);
    for (const _ of [...client.bases, 'once more']) {
      const answer = (await client.get(address)).expect(200);
      assert.equal(answer.text(), 'x');
      assert.equal(stateOf(answer), 'available');
      assert.equal(answer.headers['delivery-count'], '0');
      assert.ok(answer.headers['message-id']);
      expectTime(answer.headers['message-posted'], 'Message-Posted');
      assert.equal(client.store(answer.link('self')), address);
      assert.equal(client.store(answer.link('generator')), queue.address);
    }
    assert.deepEqual(await world.drain(queue), ['x']);
  });

  it('A11 HEAD has the fields of GET', async () => {
    const queue = await world.queue();
    const [address = ''] = await world.post(queue, ['x']);
    const url = `${client.bases[0]}${address}`;
    const headed = (await client.head(url)).expect(200);
    assert.deepEqual(lastingFields(headed), lastingFields(await client.get(url)));
    assert.equal(headed.body.length, 0);
  });

  it('A11 every message answer keeps a browser from guessing and running', async () => {
    const queue = await world.queue();
    const topic = await world.topic();
    const headers = { 'content-type': 'text/html' };
    const body = '<script>alert(1)</script>';
    const answers: Answer[] = [];
    for (const { address } of [queue, topic]) {
      const posted = (await client.post(address, { headers, body })).expect(204);
      answers.push(await client.get(posted.headers.location ?? ''));
    }
    answers.push(await client.get(queue.receiving), await client.post(queue.receiving));
    for (const answer of answers) {
      assert.equal(answer.expect(200).headers['x-content-type-options'], 'nosniff', answer.asked);
      assert.match(answer.headers['content-security-policy'] ?? '', /(^|;)\s*sandbox\s*(;|$)/, answer.asked);
    }
  });

  it('A11 the state follows the message: delayed, available, acknowledged', async () => {
    const queue = await world.queue();
    const [address = ''] = await world.post(queue, ['x'], { delay: 2 });
    assert.equal(stateOf(await client.get(address)), 'delayed');
    await world.untilState(address, 'available');
    (await client.post(queue.receiving, { headers: { 'accept-wait': '20' } })).expect(200);
    const received = await client.get(address);
    assert.equal(stateOf(received), 'acknowledged');
    assert.equal(received.headers['delivery-count'], '1');
  });

  it('A11 a message whose time is over shows expired', async () => {
    const queue = await world.queue();
    const [address = ''] = await world.post(queue, ['x'], { ttl: 0.05 });
    await world.untilState(address, 'expired');
    (await client.post(queue.receiving)).expect(204);
  });

  it('A11 no acknowledgement link here: only a delivery has one', async () => {
    const queue = await world.queue();
    const [address = ''] = await world.post(queue, ['x']);
    assert.ok(!(await client.get(address)).has('acknowledgement'));
    (await client.post(queue.receiving)).expect(200);
    assert.ok(!(await client.get(address)).has('acknowledgement'));
  });

  it('A11 DELETE takes a message off its queue: 204, then 410', async () => {
    const queue = await world.queue();
    const [one = '', two = ''] = await world.post(queue, ['one', 'two']);
    const answer = (await client.delete(one)).expect(204);
    assert.equal(answer.body.length, 0);
    for (const _ of client.bases) expectProblem(await client.get(one), 410);
    (await client.head(one)).expect(410);
    expectProblem(await client.delete(one), 410);
    (await client.get(two)).expect(200);
    assert.deepEqual(await world.drain(queue), ['two']);
  });

  it('A11 DELETE of a message under a chosen id is remembered, too', async () => {
    const queue = await world.queue();
    (await client.put(queue.message('mine'), { body: 'x' })).expect(201);
    (await client.delete(queue.message('mine'))).expect(204);
    expectProblem(await client.get(queue.message('mine')), 410);
    expectProblem(await client.delete(queue.message('mine')), 410);
  });

  it('A11 DELETE of a light message', async () => {
    const queue = await world.queue();
    const [address = ''] = await world.post(queue, ['x'], { persistent: 'false' });
    (await client.delete(address)).expect(204);
    expectProblem(await client.get(address), 410);
    (await client.post(queue.receiving)).expect(204);
  });

  it('A11 of many who delete one message, one gets 204 and the others 410', async () => {
    const queue = await world.queue();
    const [address = ''] = await world.post(queue, ['x']);
    const answers = await Promise.all(Array.from({ length: 6 }, () => client.delete(address)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, ...Array(5).fill(410)]);
  });

  it('A11 a message that never was is 404', async () => {
    const queue = await world.queue();
    for (const id of ['never', '1', '0', 'zzzzzzzzzzz', '-1']) {
      expectProblem(await client.get(queue.message(id)), 404);
      expectProblem(await client.delete(queue.message(id)), 404);
    }
  });

  it('A11 a message belongs to its queue', async () => {
    const [queue, other] = [await world.queue(), await world.queue()];
    (await client.put(queue.message('mine'), { body: 'x' })).expect(201);
    expectProblem(await client.get(other.message('mine')), 404);
    const [address = ''] = await world.post(queue, ['y']);
    const id = (await client.get(address)).headers['message-id'] ?? '';
    expectProblem(await client.delete(other.message(id)), 404, 410);
    assert.deepEqual(await world.drain(queue), ['x', 'y']);
  });

  it('A11 the answer of receiving is not to be kept, the message at its address may be looked at again', async () => {
    const queue = await world.queue();
    const [address = ''] = await world.post(queue, ['x']);
    assert.match((await client.get(queue.receiving)).headers['cache-control'] ?? '', /no-store/);
    assert.doesNotMatch((await client.get(address)).headers['cache-control'] ?? '', /immutable|max-age=[1-9]/);
  });

  it('A11 messages of a topic are immutable', async () => {
    const topic = await world.topic();
    const [address = ''] = await world.post(topic, ['x']);
    const answer = (await client.get(address)).expect(200);
    assert.match(answer.headers.etag ?? '', /^"[^"]+"$/);
    assert.equal(answer.headers['cache-control'], 'max-age=31536000, immutable');
    const again = await client.get(address, { headers: { 'if-none-match': answer.headers.etag ?? '' } });
    again.expect(304);
  });
}
