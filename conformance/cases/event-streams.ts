import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type EventStream, openEvents, type ServerEvent } from '../events.ts';
import { follow, sendText } from '../steps.ts';
import type { Destination, World } from '../world.ts';

type Message = { href: string; type?: string; data?: string; data_base64?: string };

const MANY = 60;

export function eventStreams(world: World): void {
  const { client } = world;
  const read = ({ data }: ServerEvent): Message => JSON.parse(data) as Message;
  const texts = (events: ServerEvent[]) => events.map((event) => read(event).data);

  /** Opens the topic's stream from a place on, on one of the nodes, and closes it whatever happens. */
  async function streaming(
    from: string,
    use: (stream: EventStream) => Promise<void>,
    { node = 0, headers = {} }: { node?: number; headers?: Record<string, string> } = {},
  ): Promise<void> {
    const stream = await openEvents(`${client.bases[node]}${from}`, headers);
    // Who closes it expects no clean end.
    stream.ended.catch(() => {});
    try {
      await use(stream);
    } finally {
      stream.close();
    }
  }
  const nextOf = (topic: Destination) => follow(world, topic, 'next');

  it('A17 Accept: text/event-stream on next streams the messages that follow, in order', async () => {
    const topic = await world.topic();
    const next = await nextOf(topic);
    const addresses = await world.post(topic, ['one', 'two']);
    await streaming(next, async (stream) => {
      assert.equal(stream.status, 200);
      assert.match(stream.headers['content-type'] ?? '', /^text\/event-stream\b/);
      assert.match(stream.headers['cache-control'] ?? '', /no-store|no-cache/);
      const events = await stream.take(2);
      assert.deepEqual(texts(events), ['one', 'two']);
      assert.deepEqual(
        events.map((event) => client.store(read(event).href)),
        addresses,
      );
      assert.equal(read(events[0] as ServerEvent).type, 'text/plain');
      const [three] = await world.post(topic, ['three']);
      const live = read(await stream.next());
      assert.deepEqual([live.data, client.store(live.href)], ['three', three]);
    });
  });

  it('A17 Accept: text/event-stream on first streams the topic from its beginning, and resumes like next', async () => {
    const topic = await world.topic();
    const first = await follow(world, topic, 'first');
    await world.post(topic, ['one', 'two']);
    let id = '';
    await streaming(first, async (stream) => {
      assert.equal(stream.status, 200);
      const events = await stream.take(2);
      assert.deepEqual(texts(events), ['one', 'two']);
      id = events[0]?.id ?? '';
      await world.post(topic, ['three']);
      assert.equal(read(await stream.next()).data, 'three');
    });
    const headers = { 'last-event-id': id };
    await streaming(first, async (stream) => assert.deepEqual(texts(await stream.take(2)), ['two', 'three']), {
      headers,
    });
    assert.equal((await client.get(first)).expect(200).text(), 'one');
  });

  it('A17 what is posted wakes the streams of every node', async () => {
    const topic = await world.topic();
    const next = await nextOf(topic);
    const streams = await Promise.all(
      Array.from({ length: 4 }, (_, i) => openEvents(`${client.bases[i % client.bases.length]}${next}`)),
    );
    try {
      for (const stream of streams) stream.ended.catch(() => {});
      await world.post(topic, ['a', 'b']);
      const all = await Promise.all(streams.map((stream) => stream.take(2)));
      for (const events of all) {
        assert.deepEqual(texts(events), ['a', 'b']);
        assert.deepEqual(
          events.map(({ id }) => id),
          all[0]?.map(({ id }) => id),
          'ids are positions, the same for everyone',
        );
      }
    } finally {
      for (const stream of streams) stream.close();
    }
  });

  it('A17 Last-Event-ID resumes behind that event, on whatever node, and however often', async () => {
    const topic = await world.topic();
    const next = await nextOf(topic);
    await world.post(topic, ['a', 'b', 'c']);
    let ids: string[] = [];
    await streaming(next, async (stream) => {
      ids = (await stream.take(3)).map(({ id }) => id);
    });
    assert.equal(new Set(ids).size, 3);
    const node = client.bases.length - 1;
    for (const [from, rest] of [
      [ids[0], ['b', 'c', 'd']],
      [ids[1], ['c', 'd']],
      [ids[2], ['d']],
    ] as const) {
      if (rest.length === 3) await world.post(topic, ['d']);
      const headers = { 'last-event-id': from ?? '' };
      await streaming(next, async (stream) => assert.deepEqual(texts(await stream.take(rest.length)), rest), {
        node,
        headers,
      });
    }
  });

  it('A17 a stream whose place is older than what is retained continues at the oldest', async () => {
    const topic = await world.topic({ retention: 0.3 });
    const next = await nextOf(topic);
    const [gone = ''] = await world.post(topic, ['gone']);
    await world.until('it is gone', async () => (await client.get(gone)).status !== 200);
    (await client.put(topic.address, { headers: { 'content-type': 'application/json' }, body: '{}' })).expect(200);
    await world.post(topic, ['kept']);
    await streaming(next, async (stream) => {
      assert.equal(read(await stream.next()).data, 'kept');
      assert.match(String(stream.headers.link), /rel="first"/, 'Link first says that something was skipped');
    });
    const kept = client.store((await client.get(next)).expect(200).link('next'));
    await streaming(kept, async ({ headers }) => assert.doesNotMatch(String(headers.link), /rel="first"/));
  });

  it('A17 a Last-Event-ID that is none of this topic is refused, not guessed', async () => {
    const topic = await world.topic();
    await world.post(topic, ['x']);
    await streaming(await nextOf(topic), async ({ status }) => assert.ok([400, 404].includes(status), `${status}`), {
      headers: { 'last-event-id': 'not-a-position' },
    });
  });

  it('A17 a Last-Event-ID of another topic is refused, whether its position is one here or not', async () => {
    const [topic, other] = [await world.topic(), await world.topic()];
    for (const each of [topic, other]) await world.post(each, ['x', 'y', 'z']);
    const ids: string[] = [];
    await streaming(await follow(world, other, 'first'), async (stream) => {
      for (const { id } of await stream.take(3)) ids.push(id);
    });
    for (const id of ids) {
      await streaming(await nextOf(topic), async ({ status }) => assert.ok([400, 404].includes(status), `${status}`), {
        headers: { 'last-event-id': id },
      });
    }
  });

  it('A17 a stream that breaks and resumes again and again misses nothing and repeats nothing', async () => {
    const topic = await world.topic();
    const next = await nextOf(topic);
    const posting = (async () => {
      const batches = Array.from({ length: 4 }, (_, poster) =>
        world.post(
          topic,
          Array.from({ length: MANY / 4 }, (__, i) => `${poster}.${i}`),
        ),
      );
      await Promise.all(batches);
    })();
    const seen: ServerEvent[] = [];
    for (let round = 0; seen.length < MANY; round++) {
      const last = seen.at(-1)?.id;
      const headers: Record<string, string> = last === undefined ? {} : { 'last-event-id': last };
      const count = Math.min(13, MANY - seen.length);
      await streaming(next, async (stream) => void seen.push(...(await stream.take(count))), {
        node: round % client.bases.length,
        headers,
      });
    }
    await posting;
    assert.equal(new Set(seen.map(({ id }) => id)).size, MANY);
    let at = await follow(world, topic, 'first');
    for (const event of seen) {
      const answer = (await client.get(at)).expect(200);
      assert.equal(client.store(read(event).href), client.store(answer.headers['content-location'] ?? ''));
      at = client.store(answer.link('next'));
    }
  });

  it('A17 text is data, anything else data_base64; the type as it was, or none', async () => {
    const topic = await world.topic();
    const next = await nextOf(topic);
    const binary = Buffer.from([0, 255, 254, 10, 13, 0xc3, 0x28]);
    const lines = 'two\nlines\r\n\r\n: no comment\ndata: no event\n\n"quoted" ünï ✓ \u2028';
    (await client.post(topic.address, { headers: { 'content-type': 'image/png' }, body: binary })).expect(204);
    (await client.post(topic.address, { headers: { 'content-type': 'application/json; a=b' }, body: lines })).expect(
      204,
    );
    (await client.post(topic.address, { body: 'untyped' })).expect(204);
    (await client.post(topic.address)).expect(204);
    await streaming(next, async (stream) => {
      const [png, json, untyped, empty] = (await stream.take(4)).map(read);
      assert.ok(png && json && untyped && empty);
      assert.equal(png.type, 'image/png');
      assert.equal(png.data, undefined);
      assert.ok(Buffer.from(png.data_base64 ?? '', 'base64').equals(binary));
      assert.deepEqual([json.type, json.data, json.data_base64], ['application/json; a=b', lines, undefined]);
      assert.deepEqual([untyped.type ?? null, untyped.data], [null, 'untyped']);
      assert.equal(empty.data, '');
    });
  });

  it('A17 href leads to the message itself', async () => {
    const topic = await world.topic();
    const next = await nextOf(topic);
    const headers = { 'x-mine': 'yes' };
    (await sendText(client, topic.address, 'whole', { headers })).expect(204);
    await streaming(next, async (stream) => {
      const message = (await client.get(client.store(read(await stream.next()).href))).expect(200);
      assert.equal(message.text(), 'whole');
      assert.equal(message.headers['x-mine'], 'yes');
    });
  });

  it('A17 a stream ends cleanly when its topic is deleted, and is 404 for who comes again', async () => {
    const topic = await world.topic();
    const next = await nextOf(topic);
    await world.post(topic, ['x']);
    for (const node of client.bases.keys()) {
      await streaming(next, async (stream) => assert.equal(stream.status, 200), { node });
    }
    const streams = await Promise.all(client.bases.map((base) => openEvents(`${base}${next}`)));
    for (const stream of streams) await stream.take(1);
    (await client.delete(topic.address, { query: { force: 'true' } })).expect(204);
    await Promise.all(streams.map(({ ended }) => ended));
    await streaming(next, async (stream) => assert.equal(stream.status, 404));
  });

  it('G4 events must be asked for: any other Accept gets the message', async () => {
    const topic = await world.topic();
    const next = await nextOf(topic);
    await world.post(topic, ['plain']);
    for (const accept of [
      '*/*',
      'text/*',
      'application/json',
      'text/event-stream;q=0, */*',
      'text/event-stream;q=0',
      'text/event-stream;q=0.5, text/plain',
      'text/event-stream;q=0.5, */*',
      'text/plain;q=0.6, text/event-stream;q=0.5, text/*;q=0.4',
    ]) {
      for (const from of [next, await follow(world, topic, 'first')]) {
        assert.equal((await client.get(from, { headers: { accept } })).expect(200).text(), 'plain', accept);
      }
    }
  });

  it('G4 events are weighed against the message’s own type, as documents are', async () => {
    const topic = await world.topic();
    const next = await nextOf(topic);
    await world.post(topic, ['plain']);
    for (const accept of [
      'text/event-stream;q=0.5',
      'text/event-stream, */*',
      'text/event-stream, text/plain;q=0.9',
      'text/event-stream;q=0.5, text/plain;q=0.4',
      'text/event-stream;q=0.5, application/json',
      'text/event-stream;q=0.5, text/plain;q=0, */*',
    ]) {
      for (const from of [next, await follow(world, topic, 'first')]) {
        await streaming(
          from,
          async (stream) => {
            assert.match(stream.headers['content-type'] ?? '', /^text\/event-stream\b/, accept);
            assert.equal(read(await stream.next()).data, 'plain', accept);
          },
          { headers: { accept } },
        );
      }
    }
    const several = { query: { max: 2 }, headers: { accept: 'text/event-stream;q=0.5, multipart/mixed' } };
    assert.match((await client.get(next, several)).expect(200).headers['content-type'] ?? '', /^multipart\/mixed\b/);
  });

  it('G4 with no message yet, events are weighed against anything else that is accepted', async () => {
    const next = await nextOf(await world.topic());
    const headers = { accept: 'text/event-stream;q=0.5, text/plain' };
    (await client.get(next, { headers })).expect(204);
  });

  it('A17 HEAD of a stream answers at once, without one', async () => {
    const topic = await world.topic();
    const answer = await client.head(await nextOf(topic), {
      headers: { accept: 'text/event-stream' },
      timeout: 20_000,
    });
    assert.equal(answer.expect(200, 204).body.length, 0);
  });
}
