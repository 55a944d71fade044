/** Where a message says that its answer goes is the same place for its receiver as it was for its sender. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachEngine } from '../../testing/engines.ts';
import { request } from '../../testing/http.ts';
import { withWaypost } from '../../testing/running.ts';

forEachEngine('links of a message', (engine) => {
  const waypost = withWaypost(engine);

  test('a target without a scheme, or relative to the address of the post, is handed on complete', async () => {
    const { url } = waypost();
    const targets = [
      { given: '//elsewhere.example/replies?to=me', handed: 'http://elsewhere.example/replies?to=me', isOwn: false },
      { given: `${url.replace('http:', '')}/queues/answers`, handed: `${url}/queues/answers`, isOwn: true },
      { given: '../answers', handed: `${url}/queues/answers`, isOwn: true },
    ];
    for (const { given, handed, isOwn } of targets) {
      const headers = { link: `<${given}>; rel="reply-to"` };
      const posted = await request(`${url}/queues/asked/messages`, { method: 'POST', headers, body: 'x' });
      assert.equal(posted.status, 201, posted.text());
      const received = await request(`${url}/queues/asked/receiving`, { method: 'POST' });
      assert.equal(received.link('reply-to'), handed);
      // Waypost knows further ways to its own destinations.
      assert.equal(
        received.links.some(({ rel }) => rel === 'reply-to-once'),
        isOwn,
        given,
      );
    }
  });
});
