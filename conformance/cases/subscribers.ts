import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer } from '../client.ts';
import { expectAbsolute, expectProblem, mediaType } from '../expect.ts';
import type { Destination, World } from '../world.ts';
import { ATOM, childText } from '../xml.ts';

const ATOM_TYPE = 'application/atom+xml';
/** Nobody listens there, and nothing is ever sent in these cases. */
const HREF = 'http://127.0.0.1:9/messages';

const element = (rel: string, href: string): string =>
  `<link xmlns="${ATOM}" rel="${rel}" href="${href.replaceAll('&', '&amp;')}"/>`;

type Json = { state: string; rel: string; href: string; counters: object; attempts: unknown[] };

export function subscribers(world: World): void {
  const { client } = world;

  for (const kind of ['queue', 'topic'] as const) {
    const make = (): Promise<Destination> => (kind === 'queue' ? world.queue() : world.topic());
    const collectionOf = async ({ address }: Destination) =>
      client.store((await client.head(address)).link('subscribers'));
    const register = (collection: string, body: string, type = ATOM_TYPE) =>
      client.post(collection, { headers: { 'content-type': type }, body });

    it(`A19 HEAD of a ${kind} links its subscribers as ${ATOM_TYPE}`, async () => {
      const head = (await client.head((await make()).address)).expect(200);
      const link = head.links.find(({ rel }) => rel === 'subscribers');
      assert.equal(link?.type, ATOM_TYPE);
      expectAbsolute(link?.href ?? '', 'subscribers');
    });

    it(`A19 a link element registers at a ${kind}: 201, and 200 with the same Location again`, async () => {
      const collection = await collectionOf(await make());
      const created = (await register(collection, element('post-message-once', HREF))).expect(201);
      expectAbsolute(created.headers.location ?? '', 'Location');
      const placeOf = (answer: Answer) => client.store(answer.headers.location ?? '');
      const location = placeOf(created);
      for (const body of [element('post-message-once', HREF), `<link rel="post-message-once" href="${HREF}"/>`]) {
        assert.equal(placeOf((await register(collection, body)).expect(200)), location);
      }
      const json = JSON.stringify({ rel: 'post-message-once', href: HREF });
      assert.equal(placeOf((await register(collection, json, 'application/json')).expect(200)), location);
      const other = (await register(collection, element('post-message', HREF))).expect(201);
      assert.notEqual(placeOf(other), location);
    });

    it(`A19 the subscribers of a ${kind} are an Atom feed with a JSON twin`, async () => {
      const collection = await collectionOf(await make());
      for (const rel of ['post-message', 'post-message-once', 'post-batch'])
        (await register(collection, element(rel, HREF))).expect(201);
      const feed = (await client.get(collection)).expect(200);
      assert.equal(mediaType(feed), ATOM_TYPE);
      assert.deepEqual([feed.xml().name, feed.xml().namespace], ['feed', ATOM]);
      const rels = feed
        .xml()
        .children.filter(({ name }) => name === 'entry')
        .map(({ children }) => children.find(({ attributes }) => attributes.href === HREF)?.attributes.rel);
      assert.deepEqual(rels.toSorted(), ['post-batch', 'post-message', 'post-message-once']);
      const twin = (await client.get(collection, { headers: { accept: 'application/json' } })).expect(200);
      assert.deepEqual(
        twin.json<{ items: Json[] }>().items.map(({ rel, href, state }) => [rel, href, state]),
        rels.map((rel) => [rel, HREF, 'active']),
      );
    });

    it(`A19 a subscriber of a ${kind} shows its link, state, attempts and counters, and what can be done`, async () => {
      const collection = await collectionOf(await make());
      const location = (await register(collection, element('post-batch', HREF))).expect(201).headers.location ?? '';
      const shown = (await client.get(location)).expect(200);
      assert.equal(mediaType(shown), ATOM_TYPE);
      assert.equal(childText(shown.xml(), 'state'), 'active');
      assert.equal(shown.link('post-batch'), HREF);
      const { rel, href, state, attempts, counters } = (
        await client.get(location, { headers: { accept: 'application/json' } })
      ).json<Json>();
      assert.deepEqual([rel, href, state, attempts], ['post-batch', HREF, 'active', []]);
      assert.equal(typeof counters, 'object');

      assert.ok(shown.has('disable') && !shown.has('enable') && !shown.has('try-now'));
      (await client.post(shown.link('disable'))).expect(200);
      const disabled = (await client.get(location)).expect(200);
      assert.equal(childText(disabled.xml(), 'state'), 'disabled');
      assert.ok(disabled.has('enable') && !disabled.has('disable') && !disabled.has('try-now'));
      (await client.post(disabled.link('enable'))).expect(200);
      assert.equal(childText((await client.get(location)).expect(200).xml(), 'state'), 'active');

      (await client.delete(location)).expect(204);
      expectProblem(await client.get(location), 404);
      expectProblem(await client.delete(location), 404);
    });

    it(`A19 an unknown relation is refused at a ${kind} with the known ones`, async () => {
      const collection = await collectionOf(await make());
      for (const body of [element('next', HREF), `<link href="${HREF}"/>`, element('', HREF)]) {
        const answer = await register(collection, body);
        expectProblem(answer, 422);
        for (const known of ['post-message', 'post-message-once', 'post-batch'])
          assert.ok(answer.text().includes(known), known);
      }
    });

    it(`A19 A21 what is no link to an address that may be called is refused at a ${kind}`, async () => {
      const collection = await collectionOf(await make());
      const refused: [body: string, type: string, status: number][] = [
        ['<link rel="post-message"/>', ATOM_TYPE, 422],
        [element('post-message', 'ftp://example.org/'), ATOM_TYPE, 422],
        [element('post-message', 'file:///etc/passwd'), ATOM_TYPE, 422],
        [element('post-message', 'http://169.254.169.254/latest/meta-data/'), ATOM_TYPE, 422],
        [element('post-message', 'http://[fe80::1]/'), ATOM_TYPE, 422],
        [element('post-message', 'http://0.0.0.0/'), ATOM_TYPE, 422],
        ['<entry xmlns="http://www.w3.org/2005/Atom"/>', ATOM_TYPE, 422],
        ['<link', ATOM_TYPE, 400],
        ['<!DOCTYPE link [<!ENTITY x "y">]><link rel="post-message" href="http://example.org/&x;"/>', ATOM_TYPE, 400],
        ['', ATOM_TYPE, 400],
        ['{', 'application/json', 400],
        ['hello', 'text/plain', 415],
      ];
      for (const [body, type, status] of refused) expectProblem(await register(collection, body, type), status);
    });
  }

  it('A19 an unknown destination has no subscribers', async () => {
    const known = await world.topic();
    const collection = client.store((await client.head(known.address)).link('subscribers'));
    (await client.delete(known.address)).expect(204);
    expectProblem(await client.get(collection), 404);
    const headers = { 'content-type': ATOM_TYPE };
    expectProblem(await client.post(collection, { headers, body: element('post-message', HREF) }), 404);
  });

  it('G11 subscribers come page by page', async () => {
    const { address } = await world.topic();
    const collection = client.store((await client.head(address)).link('subscribers'));
    for (let i = 0; i < 5; i++) {
      const body = element('post-message', `${HREF}?n=${i}&m=0`);
      (await client.post(collection, { headers: { 'content-type': ATOM_TYPE }, body })).expect(201);
    }
    const seen: string[] = [];
    let next: string | undefined = collection;
    const options = { headers: { accept: 'application/json' }, query: { per_page: 2 } };
    for (let page = 0; next !== undefined; page++) {
      const answer = (await client.get(next, page === 0 ? options : { headers: options.headers })).expect(200);
      seen.push(...answer.json<{ items: Json[] }>().items.map(({ href }) => href));
      next = answer.has('next') ? answer.link('next') : undefined;
    }
    assert.deepEqual(
      seen.toSorted(),
      [0, 1, 2, 3, 4].map((i) => `${HREF}?n=${i}&m=0`),
    );
  });
}
