/** The root for people: a browser gets a page with the links, every program what it got before there was one. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { request } from '../../testing/http.ts';
import { startWaypost, type WaypostProcess } from '../../testing/waypost.ts';

let waypost: WaypostProcess;
before(async () => {
  waypost = await startWaypost();
});
after(() => waypost.stop());

const root = (accept?: string, method = 'GET') =>
  request(`${waypost.url}/`, { method, headers: accept === undefined ? {} : { accept } });

const BROWSERS = {
  Firefox: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  Chromium:
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  Lynx: 'text/html, text/plain, text/sgml, text/css, application/xhtml+xml, */*;q=0.01',
  'whoever wants nothing else': 'text/html',
};

for (const [name, accept] of Object.entries(BROWSERS)) {
  test(`${name} gets a page with every link of the root`, async () => {
    const answer = await root(accept);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8');
    assert.match(answer.headers.vary ?? '', /\bAccept\b/);
    const { links } = await root();
    assert.deepEqual(answer.links, links);
    const shown = [...answer.text().matchAll(/<td><a href="([^"]+)">([^<]+)<\/a><\/td><td>(.+)<\/td>/g)];
    assert.deepEqual(
      shown.map(([, href, rel]) => ({ rel, href })),
      links.filter(({ rel }) => rel !== 'self').map(({ rel, href }) => ({ rel, href })),
    );
    assert.equal((await root(accept, 'HEAD')).headers['content-type'], 'text/html; charset=utf-8');
  });
}

test('programs see no page', async () => {
  for (const [accept, type] of [
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['application/json', 'application/json'],
    ['application/xml', 'application/xml'],
    ['application/json, text/plain, */*', 'application/json'],
    ['application/xml;q=0.9,*/*;q=0.8', 'application/xml'],
    // What Java sends when it is told nothing.
    ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', 'application/json'],
    ['text/html, image/gif, image/jpeg, */*; q=0.2', 'application/json'],
    ['application/json, application/xhtml+xml;q=0.5, text/html;q=0.5', 'application/json'],
  ] as const) {
    const answer = await root(accept);
    assert.deepEqual([answer.status, answer.headers['content-type']], [200, type], String(accept));
  }
  const nothing = await root('image/png');
  assert.equal(nothing.status, 406);
  assert.deepEqual(nothing.json<{ available: string[] }>().available, [
    'application/json',
    'application/xml',
    'text/html',
  ]);
});
