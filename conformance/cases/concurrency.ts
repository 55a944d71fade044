import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import type { World } from '../world.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const STRONG = /^"[!#-~]+"$/;

export function concurrency(world: World): void {
  const { client } = world;
  /** The ETag of a representation, always from one node: the hrefs in the document are part of it. */
  const tag = async (address: string, accept = 'application/json'): Promise<string> =>
    (await client.get(`${client.bases[0]}${address}`, { headers: { accept } })).expect(200).headers.etag ?? '';

  it('G9 destinations carry a strong ETag, one for each representation', async () => {
    for (const { address } of [await world.queue(), await world.topic()]) {
      const [json, xml] = [await tag(address), await tag(address, 'application/xml')];
      assert.match(json, STRONG);
      assert.match(xml, STRONG);
      assert.notEqual(json, xml);
      assert.equal(await tag(address), json);
    }
  });

  it('G9 the ETag changes with the settings', async () => {
    const queue = await world.queue();
    const before = await tag(queue.address);
    (await client.put(queue.address, { headers: JSON_TYPE, body: '{"lease":5}' })).expect(200);
    assert.notEqual(await tag(queue.address), before);
  });

  it('G9 two documents that differ have different ETags', async () => {
    const queue = await world.queue();
    const before = await tag(queue.address);
    await world.post(queue, ['x']);
    assert.notEqual(await tag(queue.address), before, 'the count of messages is part of the document');
  });

  it('G9 If-None-Match on GET and HEAD: 304 without a body while nothing changed', async () => {
    const queue = await world.queue();
    const etag = await tag(queue.address);
    const url = `${client.bases[0]}${queue.address}`;
    for (const value of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const answer = (await client.send(method, url, { headers: { 'if-none-match': value } })).expect(304);
        assert.equal(answer.headers.etag, etag);
        assert.equal(answer.body.length, 0);
      }
    }
    (await client.get(url, { headers: { 'if-none-match': '"other"' } })).expect(200);
    const other = { 'if-none-match': etag, accept: 'application/xml' };
    (await client.get(url, { headers: other })).expect(200);
  });

  it('G9 If-Match lets the present version through, by the ETag of either representation', async () => {
    const queue = await world.queue();
    for (const accept of ['application/json', 'application/xml']) {
      const headers = { ...JSON_TYPE, 'if-match': await tag(queue.address, accept) };
      (await client.put(queue.address, { headers, body: '{"lease":5}' })).expect(200);
    }
  });

  it('G9 If-Match compares the version: messages that come and go do not count', async () => {
    const queue = await world.queue();
    const headers = { ...JSON_TYPE, 'if-match': await tag(queue.address) };
    await world.post(queue, ['x']);
    (await client.put(queue.address, { headers, body: '{"lease":6}' })).expect(200);
  });

  it('G9 If-Match refuses what was overtaken, and nothing changes', async () => {
    const queue = await world.queue({ lease: 5 });
    const stale = await tag(queue.address);
    (await client.put(queue.address, { headers: JSON_TYPE, body: '{"lease":6}' })).expect(200);
    for (const value of [stale, '"nonsense"', '""', `W/${await tag(queue.address)}`]) {
      const headers = { ...JSON_TYPE, 'if-match': value };
      expectProblem(await client.put(queue.address, { headers, body: '{"lease":7}' }), 412);
      expectProblem(await client.delete(queue.address, { headers: { 'if-match': value } }), 412);
    }
    assert.equal((await client.get(queue.address)).json().lease, 6);
  });

  it('G9 If-Match: * needs something to be there, If-None-Match: * needs nothing to be', async () => {
    const address = await world.address('queue', world.name());
    expectProblem(await client.put(address, { headers: { 'if-match': '*' } }), 412);
    (await client.get(address)).expect(404);
    (await client.put(address, { headers: { 'if-none-match': '*' } })).expect(201);
    expectProblem(await client.put(address, { headers: { 'if-none-match': '*' } }), 412);
    (await client.put(address, { headers: { 'if-match': '*' } })).expect(200);
  });

  it('G9 DELETE honours If-Match', async () => {
    const queue = await world.queue();
    const etag = await tag(queue.address);
    (await client.delete(queue.address, { headers: { 'if-match': etag } })).expect(204);
  });

  it('G9 a destination made anew is not the old one', async () => {
    const queue = await world.queue();
    const old = await tag(queue.address);
    (await client.delete(queue.address)).expect(204);
    (await client.put(queue.address)).expect(201);
    assert.notEqual(await tag(queue.address), old);
    expectProblem(await client.put(queue.address, { headers: { 'if-match': old } }), 412);
  });

  it('G9 of writers that race with one ETag, one wins', async () => {
    const queue = await world.queue();
    const headers = { ...JSON_TYPE, 'if-match': await tag(queue.address) };
    const racing = Array.from({ length: 8 }, (_, i) =>
      client.put(queue.address, { headers, body: JSON.stringify({ lease: i + 1 }) }),
    );
    const statuses = (await Promise.all(racing)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array(7).fill(412)]);
  });
}
