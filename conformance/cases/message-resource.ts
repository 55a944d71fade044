import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer, Options } from '../client.ts';
import { expectProblem, expectTime, lastingFields } from '../expect.ts';
import { countsOf, follow } from '../steps.ts';
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
    const [queue, topic] = [await world.queue(), await world.topic()];
    const send = async (address: string): Promise<string> => {
      const options = { headers: { 'content-type': 'text/html' }, body: '<script>alert(1)</script>' };
      return client.store((await client.post(address, options)).expect(204).headers.location ?? '');
    };
    const next = await follow(world, topic, 'next');
    const [first, last, poller] = [
      await follow(world, topic, 'first'),
      await follow(world, topic, 'last'),
      await follow(world, queue, 'poller'),
    ];
    const looks: [string, Options][] = [[await send(topic.address), {}]];
    for (const address of [first, last, next, queue.receiving]) looks.push([address, {}]);
    for (const accept of ['*/*', 'application/atom+xml'])
      for (const address of [next, queue.receiving]) looks.push([address, { query: { max: 2 }, headers: { accept } }]);
    looks.push([await send(queue.address), {}]);
    const answers: Answer[] = [await client.head(next, { headers: { accept: 'text/event-stream' } })];
    for (const [address, options] of looks)
      answers.push(await client.get(address, options), await client.head(address, options));
    for (const options of [
      {},
      { query: { max: 2 } },
      { query: { max: 2 }, headers: { accept: 'application/atom+xml' } },
    ]) {
      for (const address of [poller, queue.receiving]) {
        await send(queue.address);
        answers.push(await client.post(address, options));
      }
    }
    for (const answer of answers) {
      assert.equal(answer.expect(200).headers['x-content-type-options'], 'nosniff', answer.asked);
      assert.match(answer.headers['content-security-policy'] ?? '', /(^|;)\s*sandbox\s*(;|$)/, answer.asked);
    }
  });

  it('A11 the state follows the message: delayed, available, acknowledged', async () => {
    const { queue, address } = await world.inTime(1, async (delay) => {
      const delaying = await world.queue();
      const [posted = ''] = await world.post(delaying, ['x'], { delay });
      assert.equal(stateOf(await client.get(posted)), 'delayed');
      return { queue: delaying, address: posted };
    });
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

  it('A2 a message that shows expired does not count as available or delayed, and does not keep its queue', async () => {
    const queue = await world.queue();
    const [plain = ''] = await world.post(queue, ['x'], { ttl: 0.05 });
    const [delayed = ''] = await world.post(queue, ['y'], { ttl: 0.05, delay: 60 });
    for (const address of [plain, delayed]) await world.untilState(address, 'expired');
    assert.deepEqual(await countsOf(client, queue), { available: 0, delayed: 0, leased: 0, dead: 0 });
    (await client.get(queue.receiving)).expect(204);
    (await client.delete(queue.address)).expect(204);
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

  it('G9 A11 a message of a queue has an ETag: 304 to who has it, until its state changes', async () => {
    const queue = await world.queue();
    (await client.put(queue.message('mine'), { body: 'x' })).expect(201);
    const [posted = ''] = await world.post(queue, ['y']);
    const seen = new Set<string>();
    for (const address of [queue.message('mine'), posted]) {
      for (const happens of [async () => {}, () => client.post(queue.receiving, { headers: { 'accept-wait': '5' } })]) {
        await happens();
        const { headers, body } = (await client.get(address)).expect(200);
        const { etag = '' } = headers;
        assert.match(etag, /^"[^"]+"$/);
        assert.equal(headers['cache-control'], 'no-cache');
        assert.ok(!seen.has(etag), 'another message, or another state, has another');
        seen.add(etag);
        for (const method of ['GET', 'HEAD']) {
          for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
            const kept = (await client.send(method, address, { headers: { 'if-none-match': known } })).expect(304);
            assert.equal(kept.body.length, 0);
            for (const name of ['etag', 'cache-control', 'message-state', 'delivery-count']) {
              assert.equal(kept.headers[name], headers[name], name);
            }
          }
          const other = await client.send(method, address, { headers: { 'if-none-match': '"other"' } });
          assert.equal(other.expect(200).body.length, method === 'GET' ? body.length : 0);
          (await client.send(method, address, { headers: { 'if-match': etag } })).expect(200);
          (await client.send(method, address, { headers: { 'if-match': '"other"' } })).expect(412);
        }
      }
    }
  });

  it('G9 A11 If-Match on DELETE: only the message as it was seen; 412, and nothing happens, to all else', async () => {
    const queue = await world.queue();
    const [one = '', two = ''] = await world.post(queue, ['one', 'two']);
    const remove = (address: string, headers: Record<string, string>) => client.delete(address, { headers });
    const { etag: seen = '' } = (await client.head(one)).expect(200).headers;
    const { etag: other = '' } = (await client.head(two)).expect(200).headers;
    for (const tag of ['"other"', other, `W/${seen}`]) expectProblem(await remove(one, { 'if-match': tag }), 412);
    for (const tag of [seen, '*']) expectProblem(await remove(one, { 'if-none-match': tag }), 412);
    assert.equal((await client.post(queue.receiving)).expect(200).text(), 'one');
    expectProblem(await remove(one, { 'if-match': seen }), 412);
    assert.equal(stateOf(await client.get(one)), 'acknowledged');
    (await remove(two, { 'if-match': `"x", ${other}` })).expect(204);
    expectProblem(await remove(two, { 'if-match': other }), 410);
    (await remove(one, { 'if-match': '*' })).expect(204);
    expectProblem(await client.get(one), 410);
  });

  it('G9 A11 of a DELETE with If-Match and a receiver that race, one has the message', async () => {
    const queue = await world.queue();
    for (let round = 0; round < 8; round++) {
      const [address = ''] = await world.post(queue, [`${round}`]);
      const { etag = '' } = (await client.head(address)).headers;
      const [deleted, received] = await Promise.all([
        client.delete(address, { headers: { 'if-match': etag } }),
        client.post(queue.receiving),
      ]);
      assert.equal(received.expect(200, 204).status, deleted.expect(204, 412).status === 204 ? 204 : 200);
    }
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
