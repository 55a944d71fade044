import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachEngine } from '../../../../testing/engines.ts';
import { request } from '../../../../testing/http.ts';
import { withWaypost } from '../../../../testing/running.ts';
import { cacheControlFor } from './messages.ts';

test('a message of a topic is kept by caches for the whole seconds that are left of its life', () => {
  assert.equal(cacheControlFor(undefined), 'max-age=31536000, immutable');
  assert.equal(cacheControlFor(60_000), 'max-age=60, immutable');
  assert.equal(cacheControlFor(1999), 'max-age=1, immutable');
  for (const over of [999, 0, -1, -5000]) assert.equal(cacheControlFor(over), 'no-store', String(over));
});

forEachEngine('messages of a topic in caches', (engine) => {
  const waypost = withWaypost(engine);

  /** What a message says of caches that is posted there. */
  async function cacheControl(target: string): Promise<string> {
    const posted = await request(`${waypost().url}/topics/${target}`, { method: 'POST', body: 'x' });
    const { status, headers } = await request(posted.headers.location as string);
    assert.equal(status, 200);
    return headers['cache-control'] as string;
  }

  test('are not kept beyond their own ttl or that of the topic', async () => {
    const headers = { 'Content-Type': 'application/json' };
    await request(`${waypost().url}/topics/brief`, { method: 'PUT', headers, body: '{"ttl":7200}' });
    const targets = { 'lasting?ttl=3600': 3600, brief: 7200, 'brief?ttl=600': 600 };
    for (const [target, ttl] of Object.entries(targets)) {
      const said = await cacheControl(target);
      const seconds = Number(/^max-age=(\d+), immutable$/.exec(said)?.[1]);
      assert.ok(seconds > 0 && seconds <= ttl, `${target}: ${said}`);
    }
  });

  test('are kept for good when their life has no end', async () => {
    assert.equal(await cacheControl('lasting'), 'max-age=31536000, immutable');
  });
});
