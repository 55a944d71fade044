/** Topics that only Waypost writes to offer nothing that they refuse. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachEngine } from '../../testing/engines.ts';
import { request } from '../../testing/http.ts';
import { withWaypost } from '../../testing/running.ts';
import { SYSTEM_TOPICS } from '../src/messaging/system-topics.ts';

const WAYS_IN = ['post-message', 'post-message-once', 'post-batch', 'post-batch-once', 'message-factory'];
const ADDRESSES = ['', '/messages', '/batches', '/post-once', '/batch-once'];
const BATCH = { headers: { 'content-type': 'multipart/mixed; boundary=b' }, body: '--b\r\n\r\nx\r\n--b--\r\n' };

forEachEngine('topics of the service itself', (engine) => {
  const waypost = withWaypost(engine);
  const at = (path: string): string => waypost().url + path;

  type Listed = { items: { name: string; links: { rel: string; href: string }[] }[] };
  const list = async (): Promise<Listed['items']> =>
    (await request((await request(at('/'))).link('topics'))).json<Listed>().items;

  // The first of the tests: nobody has looked at these topics yet.
  test('all are there from the beginning, by links from the root, and no look makes anything', async () => {
    const items = await list();
    assert.deepEqual(items.map(({ name }) => name).sort(), [...SYSTEM_TOPICS].sort());
    const leading = { 'operator-notices': 'operator-notices', 'consumer-events': 'consumers' } as const;
    for (const [name, rel] of Object.entries(leading)) {
      const item = items.find((each) => each.name === name);
      const topic = (await request((await request(at('/'))).link(rel))).link('events');
      assert.equal(item?.links.find((link) => link.rel === 'self')?.href, topic);
      const shown = await request(topic);
      assert.equal(shown.json<{ name: string }>().name, name);
      for (const end of ['first', 'last', 'next']) assert.equal((await request(shown.link(end))).status, 204, end);
    }
    for (const path of ['', '/first', '/last', '/subscribers', '/messages/x', '/next/x']) {
      for (const method of ['GET', 'HEAD', 'OPTIONS']) await request(at(`/topics/unknown${path}`), { method });
    }
    assert.equal((await request(at('/topics/unknown'))).status, 404);
    assert.deepEqual(await list(), items);
  });

  for (const name of SYSTEM_TOPICS) {
    test(`${name} has links to read by and none to post by, in every form`, async () => {
      for (const accept of ['application/json', 'application/xml']) {
        for (const method of ['GET', 'HEAD']) {
          const shown = await request(at(`/topics/${name}`), { method, headers: { accept } });
          assert.equal(shown.status, 200);
          const rels = shown.links.map(({ rel }) => rel);
          for (const rel of ['first', 'last', 'next', 'subscribers']) assert.ok(rels.includes(rel), rel);
          assert.deepEqual(
            rels.filter((rel) => WAYS_IN.includes(rel)),
            [],
          );
          assert.doesNotMatch(shown.text(), /post-message|post-batch|message-factory/);
        }
      }
    });

    test(`${name}: Allow names no method that is forbidden, and an ordinary topic has them all`, async () => {
      const posted = await request(at('/topics/ordinary'), { method: 'POST', body: 'x' });
      assert.equal(posted.status, 204, posted.text());
      const ordinary = await request(at('/topics/ordinary'), { method: 'OPTIONS' });
      assert.equal(ordinary.headers.allow, 'GET, HEAD, PUT, POST, DELETE, OPTIONS');
      for (const path of ADDRESSES) {
        const address = at(`/topics/${name}${path}`);
        assert.equal(
          (await request(address, { method: 'POST', ...(path === '/batches' ? BATCH : {}) })).status,
          403,
          path,
        );
        for (const method of ['OPTIONS', 'LINK']) {
          const { headers, status } = await request(address, { method });
          assert.equal(status, method === 'OPTIONS' ? 204 : 405, path);
          assert.equal(headers.allow, path === '' ? 'GET, HEAD, PUT, OPTIONS' : 'OPTIONS', path);
          assert.equal(headers['accept-post'], undefined, path);
        }
      }
    });

    test(`${name} as the place to reply to: no further ways are added`, async () => {
      const headers = { link: `</topics/${name}>; rel="reply-to"` };
      await request(at(`/queues/${name}`), { method: 'POST', headers, body: 'x' });
      const received = await request(at(`/queues/${name}/receiving`), { method: 'POST' });
      const replies = received.links.map(({ rel }) => rel).filter((rel) => rel.startsWith('reply-to'));
      assert.deepEqual(replies, ['reply-to']);
    });
  }
});
