import assert from 'node:assert/strict';
import { it } from 'node:test';
import { allowed, expectAbsolute, lastingFields } from '../expect.ts';
import type { World } from '../world.ts';

type Description = { openapi: string; paths: Record<string, Record<string, unknown>> };

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'];

export function crawling(world: World): void {
  const { client } = world;

  it('G1 every link that can be read answers below 400', async () => {
    const { pages } = await world.crawl();
    assert.ok(pages.length > 10, `${pages.length} pages`);
    for (const { answer, foundAs } of pages) {
      assert.ok(answer.status < 400, `${answer.asked} (${foundAs}) answered ${answer.status}: ${answer.text()}`);
    }
  });

  it('G2 the method a link names is one that its target allows', async () => {
    const { links, resources } = await world.crawl();
    const methodsAt = new Map(resources.map(({ url, methods }) => [client.store(url), methods]));
    const named = links.filter(({ method }) => method !== undefined);
    assert.ok(named.length > 0);
    for (const { method = '', href, rel, foundOn } of named) {
      const methods = methodsAt.get(client.store(href));
      assert.ok(!methods || methods.includes(method), `${rel} of ${foundOn}: ${href} allows ${methods}`);
    }
  });

  it('G2 each href is an absolute URI', async () => {
    const { links } = await world.crawl();
    for (const { href, foundOn } of links) expectAbsolute(href, `${href} on ${foundOn}`);
  });

  it('G2 no document names the same link twice', async () => {
    const { pages } = await world.crawl();
    for (const { url, answer } of pages) {
      const named = answer.links.map(({ rel, href, title }) => `${rel} ${href} ${title ?? ''}`);
      assert.deepEqual(named, [...new Set(named)], url);
    }
  });

  it('G3 no link leads beside the base under which the service is seen', async () => {
    const { links } = await world.crawl();
    const origins = new Set(client.bases.map((base) => new URL(base).origin));
    for (const { href, foundOn } of links) {
      if (!origins.has(new URL(href).origin)) continue;
      assert.notEqual(client.store(href), href, `${href} on ${foundOn}`);
    }
  });

  it('G2 HEAD has the status and the fields of GET', async () => {
    const { pages } = await world.crawl();
    for (const { url } of pages) {
      // The answer of the crawler may be old; what tells the time of day differs from one answer to the next.
      const except = /"uptime"/.test((await client.get(url)).text()) ? ['content-length'] : [];
      const headed = await client.head(url);
      const got = await client.get(url);
      assert.equal(headed.status, got.status, url);
      assert.deepEqual(lastingFields(headed, except), lastingFields(got, except), url);
      assert.equal(headed.body.length, 0, url);
    }
  });

  /** B8: these refuse clients what other topics let them do. */
  const isOwnTopic = (url: string): boolean => /\/topics\/(operator-notices|consumer-events)$/.test(url);

  it('G6 OPTIONS answers 204 with Allow everywhere, and every other method 405 with the same Allow', async () => {
    for (const { url, methods } of (await world.crawl()).resources) {
      assert.ok(methods.includes('OPTIONS'), url);
      assert.equal(methods.includes('HEAD'), methods.includes('GET'), url);
      for (const method of METHODS.filter((each) => !methods.includes(each))) {
        const refused = (await client.send(method, url)).expect(...(isOwnTopic(url) ? [403, 405] : [405]));
        if (refused.status === 405) assert.deepEqual(allowed(refused), methods, refused.asked);
      }
    }
  });

  it('G15 no version stands in a path or a media type', async () => {
    const { pages } = await world.crawl();
    for (const { url, answer } of pages) {
      // A whole segment: a token of chance may well begin with "v4".
      assert.doesNotMatch(client.store(url), /\/v\d+(?:\.\d+)*(?=[/?#]|$)/i);
      assert.doesNotMatch(answer.headers['content-type'] ?? '', /version=|\.v\d|-v\d/i, url);
    }
  });

  it('G1 the service description is OpenAPI 3.1 and knows every path and method that was met', async () => {
    const answer = (await client.get(await world.link('service-desc'))).expect(200);
    assert.match(answer.headers['content-type'] ?? '', /json/);
    const { openapi, paths } = answer.json<Description>();
    assert.match(openapi, /^3\.1\./);
    for (const { url, methods } of (await world.crawl()).resources) {
      const path = client.store(url).replace(/\?.*$/, '');
      const described = itemFor(paths, path);
      assert.ok(described, `no path of the description fits ${path}`);
      for (const method of methods) {
        if (method === 'OPTIONS') continue;
        const key = method === 'LINK' ? 'x-link' : method.toLowerCase();
        assert.ok(key in described, `${method} ${path} is not described`);
      }
    }
  });

  it('G1 the service documentation is a page for people', async () => {
    const answer = (await client.get(await world.link('service-doc'))).expect(200);
    assert.match(answer.headers['content-type'] ?? '', /^text\/html/);
    assert.match(answer.text(), /<h1>/);
  });
}

/** What the description says of a path. A path without parameters goes before one that has some. */
function itemFor(paths: Description['paths'], path: string): Record<string, unknown> | undefined {
  if (paths[path] !== undefined) return paths[path];
  const found = Object.keys(paths).find((template) => {
    const pattern = template.split(/\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${pattern.join('[^/]+')}$`).test(path);
  });
  return found === undefined ? undefined : paths[found];
}
