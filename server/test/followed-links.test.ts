/** A link that was just given is not looked up when the next request on the connection follows it. Nobody can tell. */
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { test } from 'node:test';
import { forEachEngine } from '../../testing/engines.ts';
import { type Answer, request } from '../../testing/http.ts';
import { withWaypost } from '../../testing/running.ts';

/** What must be the same wherever a request comes from: status, methods, and where its links lead. */
const kindOf = ({ status, headers, links }: Answer) => ({
  status,
  allow: headers.allow,
  problem: headers['content-type'],
  rels: links.map(({ rel }) => rel),
});

forEachEngine('a link that was just given', (engine) => {
  const waypost = withWaypost(engine);
  test('leads to the same place as on any other connection', async () => {
    const { url } = waypost();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const issue = (): Promise<Answer> => request(`${url}/queues/q.1~a-b/post-once`, { method: 'POST', agent });
    const lease = async (): Promise<Answer> => {
      await request(`${url}/queues/q.1~a-b`, { method: 'POST', body: 'x' });
      return request(`${url}/queues/q.1~a-b/poller`, { method: 'POST', agent });
    };
    const ways = [
      { give: issue, rel: 'create-next', post: { body: 'message' }, done: 200, again: 405 },
      { give: lease, rel: 'acknowledgement', post: { body: 'acknowledge=true', headers: form }, done: 204, again: 204 },
    ];
    try {
      for (const { give, rel, post, done, again } of ways) {
        for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) {
          const link = (await give()).link(rel);
          const followed = await request(link, { method, agent });
          assert.deepEqual(kindOf(followed), kindOf(await request(link, { method })), `${method} ${rel}`);
        }
        const link = (await give()).link(rel);
        assert.equal((await request(link, { method: 'POST', ...post, agent })).status, done);
        const repeated = await request(link, { method: 'POST', ...post, agent });
        assert.equal(repeated.status, again, 'the same link again');
        if (again === 405) {
          const { links } = repeated.json<{ links: object[] }>();
          const shown = [{ rel, href: repeated.link(rel), method: 'POST' }];
          assert.deepEqual(links, shown, 'a link in a body tells what it is and no more');
        }
        const slip = `${(await give()).link(rel).slice(0, -1)}!`;
        assert.equal((await request(slip, { method: 'POST', ...post, agent })).status, 404, 'nearly the link');
      }
      for (const body of ['one', 'two', 'three']) await request(`${url}/topics/t`, { method: 'POST', body });
      let read = await request(`${url}/topics/t/first`, { agent });
      for (const text of ['one', 'two', 'three']) {
        assert.equal(read.text(), text);
        const link = read.link('next');
        assert.equal((await request(`${link}?max=0`, { agent })).status, 400);
        read = await request(link, { agent });
      }
      assert.equal(read.status, 204);
      const slip = `${(await issue()).link('create-next')}?prioritty=9`;
      assert.equal((await request(slip, { method: 'POST', body: '0', agent })).status, 400, 'the link with a query');
      const first = (await issue()).link('create-next');
      const second = (await request(first, { method: 'POST', body: '1', agent })).link('create-next');
      const third = await request(`${second}?priority=9`, { method: 'POST', body: '2', agent });
      assert.equal(third.status, 200);
      const posted = await request(third.headers['content-location'] ?? '', { agent });
      assert.equal(posted.text(), '2');
      assert.equal((await request(third.link('create-next'), { method: 'POST', body: '3', agent })).status, 200);
    } finally {
      agent.destroy();
    }
  });
});
