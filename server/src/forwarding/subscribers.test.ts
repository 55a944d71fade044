import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { eventually } from '../../../testing/eventually.ts';
import { request } from '../../../testing/http.ts';
import { startWaypost } from '../../../testing/waypost.ts';
import { ATOM, parseXml, type XmlElement } from '../http/xml.ts';
import { look, Place, withService } from './service.fixtures.ts';
import { startTarget } from './target.fixtures.ts';

const ATOM_TYPE = 'application/atom+xml';
const HREF = 'http://127.0.0.1:9/in';

const linkElement = (rel: string, href: string, more = ''): string =>
  `<link xmlns="http://www.w3.org/2005/Atom" rel="${rel}" href="${href}"${more}/>`;

const child = (element: XmlElement, name: string): XmlElement =>
  element.children.find((each) => each.name === name) ?? assert.fail(`no <${name}>`);

forEachEngine('subscribers', (engine) => {
  const service = withService(engine, ['--max-subscribers', '5']);

  const register = (place: Place, body: string, type = ATOM_TYPE, headers = {}) =>
    request(`${place.url}/subscribers`, { method: 'POST', headers: { 'content-type': type, ...headers }, body });

  for (const kind of ['queue', 'topic'] as const) {
    test(`a ${kind} names its subscribers, HEAD is enough, and registering is one link element`, async () => {
      const place = await service[kind]();
      const head = await request(place.url, { method: 'HEAD' });
      const link = head.links.find(({ rel }) => rel === 'subscribers');
      assert.deepEqual(link, { rel: 'subscribers', href: `${place.url}/subscribers`, type: ATOM_TYPE });

      const created = await register(place, linkElement('post-message-once', HREF));
      assert.equal(created.status, 201);
      const location = created.headers.location ?? '';
      assert.ok(location.startsWith(`${place.url}/subscribers/`));
      const again = await register(place, linkElement('post-message-once', HREF));
      assert.deepEqual([again.status, again.headers.location], [200, location]);
      const other = await register(place, linkElement('post-message', HREF));
      assert.equal(other.status, 201);
      assert.notEqual(other.headers.location, location);

      const list = await request(`${place.url}/subscribers`);
      assert.equal(list.headers['content-type'], ATOM_TYPE);
      assert.deepEqual(
        list.links.map(({ rel, href }) => [rel, href]),
        [
          ['self', `${place.url}/subscribers`],
          ['first', `${place.url}/subscribers`],
          ['about', place.url],
        ],
      );
      const feed = parseXml(list.body);
      assert.deepEqual([feed.name, feed.namespace], ['feed', ATOM]);
      assert.equal(child(feed, 'id').text, `${place.url}/subscribers`);
      const entries = feed.children.filter(({ name }) => name === 'entry');
      assert.equal(entries.length, 2);
      const links = (entries[0]?.children ?? []).filter(({ name, namespace }) => name === 'link' && namespace === ATOM);
      assert.ok(links.some(({ attributes: { rel, href } }) => rel === 'post-message-once' && href === HREF));
      assert.ok(links.some(({ attributes: { rel, href } }) => rel === 'self' && href === location));

      const twin = await request(`${place.url}/subscribers`, { headers: { accept: 'application/json' } });
      const { items } = twin.json<{ items: { rel: string; href: string; state: string }[] }>();
      assert.deepEqual(
        items.map(({ rel, href, state }) => [rel, href, state]),
        [
          ['post-message-once', HREF, 'active'],
          ['post-message', HREF, 'active'],
        ],
      );

      const one = await request(location);
      assert.equal(one.headers['content-type'], ATOM_TYPE);
      assert.equal(child(parseXml(one.body), 'state').text, 'active');
      assert.ok(one.headers.etag);
      assert.equal((await request(location, { method: 'HEAD' })).link('disable'), `${location}/disable`);
      assert.equal((await request(location, { headers: { accept: 'text/plain' } })).status, 406);

      assert.equal((await request(location, { method: 'DELETE' })).status, 204);
      assert.equal((await request(location)).status, 404);
      assert.equal((await request(location, { method: 'DELETE' })).status, 404);
      const anew = await register(place, linkElement('post-message-once', HREF));
      assert.equal(anew.status, 201);
      assert.notEqual(anew.headers.location, location);
    });
  }

  test('links are taken without the namespace, as application/xml, as JSON and as a form', async () => {
    const topic = await service.topic();
    const bodies: [string, string][] = [
      [ATOM_TYPE, `<link rel="post-batch" href="${HREF}"/>`],
      ['application/xml', `<link rel="post-batch" href="${HREF}"/>`],
      ['application/json', JSON.stringify({ rel: 'post-batch', href: HREF })],
      ['application/x-www-form-urlencoded', new URLSearchParams({ rel: 'post-batch', href: HREF }).toString()],
      [`${ATOM_TYPE};type=entry`, linkElement('post-batch', HREF)],
    ];
    const locations = new Set<string | undefined>();
    for (const [index, [type, body]] of bodies.entries()) {
      const answer = await register(topic, body, type);
      assert.equal(answer.status, index === 0 ? 201 : 200, `${type}: ${answer.text()}`);
      locations.add(answer.headers.location);
    }
    assert.equal(locations.size, 1);
  });

  test('what cannot be registered is refused with a reason', async () => {
    const topic = await service.topic();
    const cases: [type: string, body: string, status: number, told: RegExp][] = [
      [ATOM_TYPE, linkElement('next', HREF), 422, /post-message, post-message-once, post-batch/],
      [ATOM_TYPE, `<link href="${HREF}"/>`, 422, /post-message, post-message-once, post-batch/],
      [ATOM_TYPE, '<link rel="post-message"/>', 422, /href/],
      [ATOM_TYPE, linkElement('post-message', 'ftp://example.org/'), 422, /http and https/],
      [ATOM_TYPE, linkElement('post-message', 'http://10.0.0.1/'), 422, /may not be called/],
      [ATOM_TYPE, linkElement('post-message', 'http://user:pw@example.org/'), 422, /password/],
      [ATOM_TYPE, linkElement('post-message', HREF, ' secret="short"'), 422, /whsec_/],
      [ATOM_TYPE, '<feed xmlns="http://www.w3.org/2005/Atom"/>', 422, /link/],
      [ATOM_TYPE, '<link', 400, /XML/],
      [ATOM_TYPE, '<!DOCTYPE x []><link/>', 400, /XML/],
      [ATOM_TYPE, '', 400, /link element/],
      ['application/json', '[]', 400, /object/],
      ['text/plain', 'x', 415, /atom\+xml/],
      [ATOM_TYPE, linkElement('post-message', `${topic.url}/messages`), 422, /itself/],
    ];
    for (const [type, body, status, told] of cases) {
      const answer = await register(topic, body, type);
      assert.equal(answer.status, status, `${body}: ${answer.text()}`);
      assert.match(answer.text(), told, body);
    }
    const unknown = new Place(service.url, 'topics', 'nowhere');
    assert.equal((await register(unknown, linkElement('post-message', HREF))).status, 404);
    assert.equal((await request(`${unknown.url}/subscribers`)).status, 404);
    assert.equal((await request(`${topic.url}/subscribers/nobody`)).status, 404);
  });

  test('a destination has no more subscribers than the limit, also when they come all at once', async () => {
    const topic = await service.topic();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => register(topic, linkElement('post-message', `${HREF}/${index}`))),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(5).fill(201), ...Array(7).fill(409)]);
    assert.match(answers.find(({ status }) => status === 409)?.text() ?? '', /too-many-subscribers/);
  });

  test('the same registration many times at once makes one subscriber', async () => {
    const topic = await service.topic();
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => register(topic, linkElement('post-message', HREF))),
    );
    assert.equal(new Set(answers.map(({ headers }) => headers.location)).size, 1);
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  });

  test('a list of subscribers comes page by page', async () => {
    const topic = await service.topic();
    for (let i = 0; i < 5; i++) await topic.register('post-message', `${HREF}/${i}`);
    const seen: string[] = [];
    let url = `${topic.url}/subscribers?per_page=2`;
    for (;;) {
      const page = await request(url, { headers: { accept: 'application/json' } });
      seen.push(...page.json<{ items: { href: string }[] }>().items.map(({ href }) => href));
      const next = page.links.find(({ rel }) => rel === 'next');
      if (next === undefined) break;
      url = next.href;
    }
    assert.deepEqual(
      seen,
      [0, 1, 2, 3, 4].map((i) => `${HREF}/${i}`),
    );
  });

  test('enabling and disabling twice changes nothing', async () => {
    const topic = await service.topic();
    const subscriber = await topic.register('post-message', HREF);
    for (const [action, state] of [
      ['disable', 'disabled'],
      ['disable', 'disabled'],
      ['enable', 'active'],
      ['enable', 'active'],
    ]) {
      const answer = await request(`${subscriber}/${action}`, {
        method: 'POST',
        headers: { accept: 'application/json' },
      });
      assert.deepEqual([answer.status, answer.json<{ state: string }>().state], [200, state]);
    }
    assert.equal((await request(`${subscriber}/enable?skip=perhaps`, { method: 'POST' })).status, 400);
  });

  test('state survives a restart', async () => {
    const target = await startTarget();
    const database = await engine.database();
    let waypost = await startWaypost({ args: database.args });
    try {
      const topic = new Place(waypost.url, 'topics', 't');
      await topic.create();
      const [working, stopped] = [
        await topic.register('post-message-once', `${target.url}/once`),
        await topic.register('post-message', `${target.url}/stopped`),
      ];
      await topic.post('one');
      await target.received(2);
      await request(`${stopped}/disable`, { method: 'POST' });
      await topic.post('two');
      await target.received(3);
      await eventually('it is counted', async () => (await look(working)).counters.forwarded === 2);
      await waypost.stop();
      waypost = await startWaypost({ args: database.args });
      const again = new Place(waypost.url, 'topics', 't');
      const path = (url: string): string => waypost.url + new URL(url).pathname;
      const found = await look(path(working));
      assert.deepEqual([found.state, found.counters.forwarded, found.attempts.length], ['active', 2, 3]);
      assert.equal((await look(path(stopped))).state, 'disabled');
      await again.post('three');
      await target.received(4);
      assert.deepEqual(
        target.accepted.filter(({ path }) => path !== '/stopped').map(({ body }) => body),
        ['one', 'two', 'three'],
      );
      // The link of the last answer before the restart served the first message after it.
      assert.equal(target.asked.filter(({ path }) => path === '/once').length, 1);
    } finally {
      await waypost.stop();
      await target.close();
      await database.drop();
    }
  });

  test('the operator URL gets every notice as a CloudEvent', async () => {
    const target = await startTarget();
    const database = await engine.database();
    let waypost = await startWaypost({ args: [...database.args, '--operator-url', `${target.url}/operator`] });
    try {
      const queue = new Place(waypost.url, 'queues', 'q');
      await queue.create();
      target.whim = (incoming, response) => {
        if (incoming.url !== '/refuses') return false;
        response.writeHead(400).end();
        return true;
      };
      const subscriber = await queue.register('post-message', `${target.url}/refuses`);
      await queue.post('unwanted');
      const [notice] = await target.received(1);
      assert.equal(notice?.path, '/operator');
      assert.equal(notice?.headers['ce-type'], 'operator-notice.subscriber.dead-letter');
      assert.equal(JSON.parse(notice?.body ?? '').subject, new URL(subscriber).pathname);
      // Another URL takes the place of the first.
      await waypost.stop();
      waypost = await startWaypost({ args: [...database.args, '--operator-url', `${target.url}/other`] });
      const list = await request(`${waypost.url}/topics/operator-notices/subscribers`, {
        headers: { accept: 'application/json' },
      });
      assert.deepEqual(
        list.json<{ items: { href: string }[] }>().items.map(({ href }) => href),
        [`${target.url}/other`],
      );
    } finally {
      await waypost.stop();
      await target.close();
      await database.drop();
    }
  });
});
