import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { World } from '../world.ts';

export function preferences(world: World): void {
  const { client } = world;

  it('G8 preferences that cannot be read are ignored', async () => {
    const queue = await world.queue();
    for (const prefer of ['wait=long', 'wait=-1', 'wait=', '===', 'return=everything', ';', 'wait="unclosed', ',,']) {
      (await client.post(queue.receiving, { headers: { prefer } })).expect(204);
      (await client.get(queue.address, { headers: { prefer } })).expect(200);
    }
  });

  it('G8 a client that wants no document in answer to a write gets none, and is told so', async () => {
    const queue = await world.queue();
    const body = JSON.stringify({ lease: 7 });
    const headers = { prefer: 'return=minimal', 'content-type': 'application/json' };
    const answer = (await client.put(queue.address, { headers, body })).expect(200);
    assert.equal(answer.headers['preference-applied'], 'return=minimal');
    assert.equal(answer.body.length, 0);
    assert.equal((await client.get(queue.address)).json<{ lease: number }>().lease, 7);
  });

  it('G8 Preference-Applied lists only what was asked for and honoured', async () => {
    const queue = await world.queue();
    const asked = ['respond-async', 'wait=0.01', 'return=minimal', 'handling=strict', 'made-up=1'];
    const headers = { prefer: asked.join(', '), 'content-type': 'application/json' };
    for (const [method, address] of [
      ['GET', '/'],
      ['POST', queue.receiving],
      ['PUT', queue.address],
      ['POST', queue.address],
    ] as const) {
      const answer = await client.send(method, address, { headers, ...(method === 'PUT' ? { body: '{}' } : {}) });
      answer.expect(200, 202, 204);
      const applied = (answer.headers['preference-applied'] ?? '').split(/\s*,\s*/).filter((each) => each !== '');
      for (const each of applied) assert.ok(asked.includes(each), `${answer.asked}: ${each}`);
      assert.ok(!applied.includes('made-up=1'));
      if (applied.includes('return=minimal')) assert.equal(answer.body.length, 0);
    }
  });

  it('G8 nothing is applied that nobody asked for', async () => {
    assert.equal((await client.root()).headers['preference-applied'], undefined);
  });
}
