/** CloudEvents by the official package (A10): emitted to Waypost over HTTP, received, and parsed back equal. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CloudEvent, HTTP, type Message } from 'cloudevents';
import { forEachEngine } from '../../testing/engines.ts';
import { type Answer, request } from '../../testing/http.ts';
import { startWaypost, type WaypostProcess } from '../../testing/waypost.ts';

const common = {
  id: 'a-1',
  source: 'https://example.com/orders',
  type: 'com.example.order.placed',
  subject: 'orders/17',
  time: '2026-03-01T12:00:00.123Z',
};

/** Every kind of content, with optional attributes and extensions. */
const events: Record<string, CloudEvent<unknown>> = {
  'with JSON': new CloudEvent({
    ...common,
    datacontenttype: 'application/json',
    dataschema: 'https://example.com/schemas/order',
    data: { total: 12.5, items: ['Bücher', '本'], note: null },
  }),
  'with text': new CloudEvent({ ...common, datacontenttype: 'text/plain; charset=utf-8', data: 'Grüße' }),
  'with bytes': new CloudEvent({
    ...common,
    datacontenttype: 'application/octet-stream',
    data: new Uint8Array([0, 255, 128, 10, 13]),
  }),
  'with extensions': new CloudEvent({
    ...common,
    datacontenttype: 'application/json',
    data: { n: 1 },
    partitionkey: 'p-9',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  }),
  // The package names this type in binary mode when the event names none.
  'without data': new CloudEvent({ ...common, datacontenttype: 'application/json; charset=utf-8' }),
};

/** Sends what the package made of an event. */
function emit(url: string, message: Message): Promise<Answer> {
  const headers = Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
  );
  return request(url, { method: 'POST', headers, ...(message.body === undefined ? {} : { body: bodyOf(message) }) });
}

function bodyOf({ body }: Message): string | Buffer {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body;
  return body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body);
}

/** Reads an answer with the package, as a receiver would. Bytes stay bytes, all else is text to it. */
function parse({ headers, body }: Answer): CloudEvent<unknown> {
  const isBinary = headers['content-type'] === 'application/octet-stream';
  const content = isBinary ? body : body.toString();
  const event = HTTP.toEvent({ headers, body: body.length === 0 ? undefined : content });
  assert.ok(event instanceof CloudEvent, 'one event');
  return event;
}

/** Compared as the package itself writes them down: attributes, extensions and data, bytes in base64. */
function assertSame(received: CloudEvent<unknown>, sent: CloudEvent<unknown>): void {
  assert.deepEqual(received.toJSON(), sent.toJSON());
}

forEachEngine('CloudEvents', (engine) => {
  let waypost: WaypostProcess;
  let drop: () => Promise<void>;
  before(async () => {
    const database = await engine.database();
    drop = database.drop;
    waypost = await startWaypost({ args: database.args });
  });
  after(async () => {
    await waypost.stop();
    await drop();
  });

  /** A fresh destination, reached from the root by links alone. */
  async function destination(rel: 'queues' | 'topics', name: string): Promise<Answer> {
    const root = await request(`${waypost.url}/`);
    const created = await request(root.link(rel), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    });
    assert.equal(created.status, 201, created.text());
    return request(created.headers.location ?? '', { method: 'HEAD' });
  }

  for (const mode of ['binary', 'structured'] as const) {
    describe(`in ${mode} mode`, () => {
      for (const [what, event] of Object.entries(events)) {
        it(`an event ${what} comes through a queue unchanged`, async () => {
          const queue = await destination('queues', `${mode}-${what.replaceAll(' ', '-')}`);
          for (const _ of ['receive', 'poll']) {
            const posted = await emit(queue.link('post-message'), HTTP[mode](event));
            assert.equal(posted.status, 201, posted.text());
          }
          assertSame(parse(await request(queue.link('receiving'), { method: 'POST' })), event);
          const polled = await request(queue.link('poller'), { method: 'POST' });
          assertSame(parse(polled), event);
          assertSame(parse(await request(polled.link('self'))), event);
        });
      }

      it('an event comes through a topic unchanged', async () => {
        const topic = await destination('topics', `${mode}-topic`);
        const event = events['with extensions'] as CloudEvent<unknown>;
        assert.equal((await emit(topic.link('post-message'), HTTP[mode](event))).status, 201);
        const read = await request(topic.link('next'));
        assert.equal(read.status, 200);
        assertSame(parse(read), event);
      });

      it('an event posted once only comes through unchanged', async () => {
        const queue = await destination('queues', `${mode}-once`);
        const event = events['with JSON'] as CloudEvent<unknown>;
        const issued = await request(queue.link('post-message-once'), { method: 'POST' });
        assert.equal((await emit(issued.link('create-next'), HTTP[mode](event))).status, 200);
        assert.equal((await emit(issued.link('create-next'), HTTP[mode](event))).status, 405);
        assertSame(parse(await request(queue.link('receiving'), { method: 'POST' })), event);
      });
    });
  }
});
