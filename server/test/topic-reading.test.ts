/** Reading a topic at its links: what the answers say of how they were chosen, and what is not known there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachEngine } from '../../testing/engines.ts';
import { request } from '../../testing/http.ts';
import { withWaypost } from '../../testing/running.ts';

const EVENTS = { accept: 'text/event-stream' };

forEachEngine('reading a topic', (engine) => {
  const waypost = withWaypost(engine);
  const at = (path: string): string => waypost().url + path;

  test('a cache is told that Accept chooses between messages and events', async () => {
    await request(at('/topics/chosen'), { method: 'PUT' });
    const next = (await request(at('/topics/chosen'))).link('next');
    const links = [next, at('/topics/chosen/first')];
    const look = async (method: string, status: number, headers = {}, targets = links): Promise<void> => {
      for (const target of targets) {
        const answer = await request(target, { method, headers });
        assert.equal(answer.status, status, target);
        assert.equal(answer.headers.vary, 'Accept', `${method} ${target} ${JSON.stringify(headers)}`);
      }
    };
    await look('GET', 204);
    await request(at('/topics/chosen'), { method: 'POST', body: 'x' });
    await look('GET', 200);
    await look('GET', 200, {}, [`${next}?max=2`]);
    // The head of a stream, which itself has no end.
    await look('HEAD', 200, EVENTS);
    assert.equal((await request(at('/topics/chosen/last'))).headers.vary, undefined, 'nothing is chosen there');
  });

  test('several messages are refused at first and last, with the link that gives them', async () => {
    for (const body of ['one', 'two', 'three']) await request(at('/topics/several'), { method: 'POST', body });
    for (const [query, headers] of [
      ['max=2', {}],
      ['max=1', {}],
      ['max=', {}],
      ['max=2', EVENTS],
    ] as const) {
      for (const word of ['first', 'last']) {
        const refused = await request(at(`/topics/several/${word}?${query}`), { headers });
        assert.equal(refused.status, 400, query);
        const { detail, errors } = refused.json<{ detail: string; errors: { parameter: string }[] }>();
        assert.match(detail, new RegExp(`${word} gives one message; next, which is linked`));
        assert.deepEqual(
          errors.map(({ parameter }) => parameter),
          ['max'],
        );
        const parts = await request(`${refused.link('next')}?max=2`);
        assert.match(parts.headers['content-type'] ?? '', /^multipart\/mixed/);
        assert.match(parts.text(), /one.*two/s);
        assert.doesNotMatch(parts.text(), /three/);
      }
    }
    assert.equal((await request(at('/topics/several/first?unknown=1'))).text(), 'one');
    assert.equal((await request(at('/topics/several/last?unknown=1'))).text(), 'three');
    for (const word of ['first', 'last']) {
      assert.equal((await request(at(`/topics/nowhere/${word}?max=2`))).status, 404);
    }
  });
});
