import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import type { Kind, World } from '../world.ts';

const BAD = [
  'a b',
  'a/b',
  'a?b',
  'a#b',
  'a%b',
  'é',
  '☃',
  'a\u0000b',
  'a\nb',
  'a:b',
  'a@b',
  '{name}',
  '*',
  "a'b",
  'a\\b',
];

export function names(world: World): void {
  const { client } = world;
  const exactly = (length: number): string => world.name('long').padEnd(length, 'x');

  it('G10 names of all allowed characters, 1 to 250 of them, come back as they are', async () => {
    for (const name of [world.name('A.b_c~d-9'), world.name('..'), exactly(250)]) {
      const answer = (await client.put(await world.address('queue', name))).expect(201);
      assert.equal(answer.json().name, name);
      const queue = await world.queueAt(name);
      await world.post(queue, ['x']);
      assert.deepEqual(await world.drain(queue), ['x']);
    }
  });

  it('G10 upper and lower case are two names', async () => {
    const name = world.name('case');
    (await client.put(await world.address('queue', `${name}a`))).expect(201);
    (await client.get(await world.address('queue', `${name}A`))).expect(404);
  });

  it('G10 a name may be written with or without percent-encoding', async () => {
    const queue = await world.queue({ lease: 44 });
    const encoded = queue.address.replace(/[a-z](?=[^/]*$)/, (character) => `%${character.charCodeAt(0).toString(16)}`);
    assert.notEqual(encoded, queue.address);
    assert.equal((await client.get(encoded)).expect(200).json().lease, 44);
  });

  it('G10 other characters are 400 wherever a name is given', async () => {
    for (const kind of ['queue', 'topic'] as Kind[]) {
      for (const name of [...BAD, exactly(251)]) {
        const address = await world.address(kind, name);
        for (const method of ['PUT', 'GET', 'POST', 'DELETE']) expectProblem(await client.send(method, address), 400);
      }
    }
  });

  it('G10 other characters are 400 in the body of a POST, too, and so are the two dots', async () => {
    const headers = { 'content-type': 'application/json' };
    for (const kind of ['queues', 'topics']) {
      const collection = await world.link(kind);
      for (const name of [...BAD, '', '.', '..', exactly(251)]) {
        expectProblem(await client.post(collection, { headers, body: JSON.stringify({ name }) }), 400);
      }
    }
  });

  it('G10 the names . and .. are refused as addresses', async () => {
    for (const name of ['.', '..']) {
      const { status, asked } = await client.put(await world.address('queue', name), { body: '' });
      assert.equal(status, 400, asked);
    }
  });

  it('G10 message ids follow the same rule', async () => {
    const queue = await world.queue();
    for (const id of [...BAD, '.', '..', exactly(251)]) {
      expectProblem(await client.put(queue.message(id), { body: 'x' }), 400);
    }
    for (const id of ['m', 'A.b_c~d-9', '...', exactly(250)]) {
      (await client.put(queue.message(id), { body: id })).expect(201);
      assert.equal((await client.get(queue.message(id))).expect(200).headers['message-id'], id);
    }
  });

  it('G10 a queue and a topic may have the same name', async () => {
    const queue = await world.queue();
    const topic = await world.address('topic', queue.name);
    (await client.put(topic)).expect(201);
    (await client.delete(topic)).expect(204);
    (await client.get(queue.address)).expect(200);
  });
}
