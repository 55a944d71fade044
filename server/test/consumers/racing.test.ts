/**
 * Fifty clients change the same consumer at once. The events tell one story, a chain of versions of the consumer; each
 * answer must be one that this story gives at some moment between the request and the answer.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type EngineDatabase, forEachEngine } from '../../../testing/engines.ts';
import { type Answer, request } from '../../../testing/http.ts';
import { startWaypost, type WaypostProcess } from '../../../testing/waypost.ts';
import type { ConsumerJson, EntitlementJson } from './service.ts';

const CLIENTS = 50;
const TURNS = 8;
const PRODUCTS = 3;

/** The consumer after one event. */
interface Chapter {
  readonly state: 'active' | 'terminated';
  /** The id of the entitlement to each product that is not terminated itself. */
  readonly standing: ReadonlyMap<string, string>;
}

type Deed =
  | { do: 'terminate' | 'reinstate' }
  | { do: 'rename'; name: string; ifMatch?: number }
  | { do: 'grant'; product: string }
  | { do: 'end'; id: string };

interface Record {
  readonly deed: Deed;
  readonly started: number;
  readonly ended: number;
  /** The highest version that anyone had seen when the request was sent. */
  readonly low: number;
  readonly answer: Answer;
  /** That the answer shows, if it shows one. */
  readonly version: number | undefined;
}

const versionOf = (answer: Answer): number | undefined => {
  const found = /^"(\d+)-/.exec(answer.headers.etag ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
};

forEachEngine('fifty clients on one consumer', (engine) => {
  let database: EngineDatabase;
  const nodes: WaypostProcess[] = [];
  before(async () => {
    database = await engine.database();
    const count = engine.name === 'postgresql' ? 2 : 1;
    for (let i = 0; i < count; i++) nodes.push(await startWaypost({ args: [...database.args, '--log-level', 'warn'] }));
  });
  after(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await database.drop();
  });

  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const post = (url: string, body: object, more = {}): Promise<Answer> =>
    request(url, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) });

  it('get answers that one story explains', { timeout: 120_000 }, async () => {
    const root = await request(`${nodes[0]?.url}/`);
    const made = await post(root.link('consumers'), { name: 'start' });
    const path = new URL(made.link('self')).pathname;
    const clock = { tick: 0, seen: 1 };
    const records = (
      await Promise.all(Array.from({ length: CLIENTS }, (_, client) => runClient(client, path, clock)))
    ).flat();
    const story = await readStory(root.link('topics'), path);
    assert.ok(story.chapters.length > CLIENTS, `${story.chapters.length} changes`);
    checkAnswers(records, story);
    checkEvents(records, story);
    const last = (await request(made.link('self'), { headers })).json<ConsumerJson>();
    const end = story.chapters.at(-1);
    assert.deepEqual(
      { state: last.state, name: last.name, count: last['entitlement-count'] },
      { state: end?.state, name: namesOf(records, story).at(-1), count: end?.standing.size },
    );
  });

  async function runClient(client: number, path: string, clock: { tick: number; seen: number }): Promise<Record[]> {
    const records: Record[] = [];
    const granted: string[] = [];
    let known = 1;
    for (let turn = 0; turn < TURNS; turn++) {
      const base = nodes[(client + turn) % nodes.length]?.url as string;
      const deed = chooseDeed(client, turn, known, granted);
      const started = clock.tick++;
      const low = clock.seen;
      const answer = await send(base + path, base, deed);
      const isConsumer = answer.status === 200 && deed.do !== 'end';
      const version = isConsumer ? versionOf(answer) : undefined;
      if (version !== undefined) {
        known = version;
        clock.seen = Math.max(clock.seen, version);
      }
      if (answer.status === 201) granted.push(answer.json<EntitlementJson>().id);
      records.push({ deed, started, ended: clock.tick++, low, answer, version });
    }
    return records;
  }

  /** A mix in which every pair of deeds meets. */
  function chooseDeed(client: number, turn: number, known: number, granted: string[]): Deed {
    const mine = granted[turn % Math.max(1, granted.length)];
    switch ((client * 3 + turn * 5) % 8) {
      case 0:
        return { do: 'terminate' };
      case 1:
      case 2:
        return { do: 'reinstate' };
      case 3:
        return { do: 'rename', name: `name ${client} ${turn}` };
      case 4:
        return { do: 'rename', name: `name ${client} ${turn}`, ifMatch: known };
      case 5:
        if (mine !== undefined) return { do: 'end', id: mine };
        return { do: 'grant', product: `p${turn % PRODUCTS}` };
      default:
        return { do: 'grant', product: `p${(client + turn) % PRODUCTS}` };
    }
  }

  function send(consumer: string, base: string, deed: Deed): Promise<Answer> {
    // The addresses are those of the links; each request goes to a node of its own.
    if (deed.do === 'grant') return post(`${consumer}/entitlements`, { product: deed.product });
    if (deed.do === 'end') return post(`${base}/entitlements/${deed.id}/terminate`, {});
    if (deed.do === 'rename') {
      const match = deed.ifMatch === undefined ? {} : { 'if-match': `"${deed.ifMatch}-json"` };
      return post(consumer, { name: deed.name }, match);
    }
    return post(`${consumer}/${deed.do}`, {});
  }

  interface Story {
    /** Version v of the consumer is at v - 1. */
    readonly chapters: readonly Chapter[];
    readonly events: readonly { readonly type: string; readonly id: string; readonly version: number }[];
  }

  /** Reads the events in their order and plays them; a step that the one before does not allow fails. */
  async function readStory(topics: string, path: string): Promise<Story> {
    const list = await request(topics);
    const topic = list.json<{ items: { name: string; links: { rel: string; href: string }[] }[] }>();
    const self = topic.items
      .find(({ name }) => name === 'consumer-events')
      ?.links.find(({ rel }) => rel === 'self')?.href;
    assert.ok(self);
    let answer = await request((await request(self)).link('first'));
    const chapters: Chapter[] = [];
    const events: Story['events'][number][] = [];
    while (answer.status === 200) {
      const type = answer.headers['ce-type'] ?? '';
      const data = answer.json<{ id: string; version: number; product?: string; entitlements?: number }>();
      const present = chapters.at(-1) ?? { state: 'active', standing: new Map<string, string>() };
      const standing = new Map(present.standing);
      const product = data.product ?? '';
      let { state } = present;
      if (type === 'consumer.terminated' || type === 'consumer.reinstated') {
        assert.equal(state, type === 'consumer.terminated' ? 'active' : 'terminated', `${type} ${data.version}`);
        state = type === 'consumer.terminated' ? 'terminated' : 'active';
        assert.equal(data.entitlements, standing.size);
      } else if (type === 'entitlement.created') {
        assert.equal(state, 'active');
        assert.ok(!standing.has(product), 'one per product');
        standing.set(product, data.id);
      } else if (type === 'entitlement.terminated') {
        assert.equal(state, 'active');
        assert.equal(standing.get(product), data.id);
        standing.delete(product);
      } else assert.match(type, /^consumer\.(created|updated)$/);
      chapters.push({ state, standing });
      if (type.startsWith('consumer.')) {
        assert.equal(data.version, chapters.length, 'versions and events go together');
        assert.equal(answer.headers['ce-subject'], path);
      }
      events.push({ type, id: data.id, version: chapters.length });
      answer = await request(answer.link('next'));
    }
    return { chapters, events };
  }

  function checkAnswers(records: readonly Record[], story: Story): void {
    const { chapters, events } = story;
    const names = namesOf(records, story);
    for (const { version, answer } of records) {
      if (version === undefined) continue;
      const { state, name, 'entitlement-count': count } = answer.json<ConsumerJson>();
      const chapter = chapters[version - 1];
      assert.deepEqual(
        { state, count },
        { state: chapter?.state, count: chapter?.standing.size },
        `version ${version}`,
      );
      assert.equal(name, names[version - 1], `the name of version ${version}`);
    }
    const versionOfEvent = (type: string, id: string): number | undefined =>
      events.find((event) => event.type === type && event.id === id)?.version;

    for (const record of records) {
      const { deed, answer, version, low } = record;
      const later = records.flatMap((other) =>
        other.started > record.ended && other.version !== undefined ? [other.version] : [],
      );
      const high = Math.min(chapters.length, ...later);
      const during = (holds: (chapter: Chapter, at: number) => boolean): boolean =>
        chapters.slice(low - 1, high).some((chapter, i) => holds(chapter, low + i));
      const shown = `${JSON.stringify(deed)} → ${answer.status} in ${low}..${high}: ${answer.text()}`;
      const problem = answer.status >= 400 ? answer.json<{ type: string }>().type.split('/').at(-1) : undefined;
      if (version !== undefined) {
        assert.ok(version >= low && version <= high, shown);
        const { name, state } = answer.json<ConsumerJson>();
        if (deed.do === 'terminate') assert.equal(state, 'terminated', shown);
        else if (deed.do === 'reinstate') assert.equal(state, 'active', shown);
        else if (deed.do === 'rename') {
          assert.equal(name, deed.name, shown);
          if (deed.ifMatch !== undefined) assert.equal(version, deed.ifMatch + 1, shown);
        }
      } else if (deed.do === 'grant' && answer.status === 201) {
        const at = versionOfEvent('entitlement.created', answer.json<EntitlementJson>().id);
        assert.ok(at !== undefined && at >= low && at <= high, shown);
      } else if (deed.do === 'grant' && problem === 'consumer-terminated') {
        assert.ok(
          during(({ state }) => state === 'terminated'),
          shown,
        );
      } else if (deed.do === 'grant' && problem === 'already-entitled') {
        const first = answer.link('entitlement').split('/').at(-1);
        assert.ok(
          during(({ state, standing }) => state === 'active' && standing.get(deed.product) === first),
          shown,
        );
      } else if (deed.do === 'rename' && problem === 'precondition-failed') {
        assert.ok(
          during((_, at) => at !== deed.ifMatch),
          shown,
        );
      } else if (deed.do === 'end' && answer.status === 200) {
        // Ended by itself at some time until now, or hidden by its consumer.
        const at = versionOfEvent('entitlement.terminated', deed.id);
        const isHidden = during(({ state }) => state === 'terminated');
        assert.ok((at !== undefined && at <= high) || isHidden, shown);
        assert.equal(answer.json<EntitlementJson>().state, 'terminated', shown);
      } else assert.fail(`unexplained: ${shown}`);
    }
  }

  /** The events do not say names: whoever changed one was told the version, and it lasts until the next change. */
  function namesOf(records: readonly Record[], { events }: Story): string[] {
    let name = 'start';
    return events.map(({ type, version }) => {
      const found = records.find((record) => record.deed.do === 'rename' && record.version === version);
      if (type === 'consumer.updated' && found?.deed.do === 'rename') name = found.deed.name;
      return name;
    });
  }

  /** Every event was somebody's deed. */
  function checkEvents(records: readonly Record[], { events }: Story): void {
    const deeds: { [type: string]: Deed['do'] } = {
      'consumer.terminated': 'terminate',
      'consumer.reinstated': 'reinstate',
      'consumer.updated': 'rename',
    };
    for (const { type, id, version } of events) {
      const wanted = deeds[type];
      if (wanted !== undefined) {
        const found = records.filter((record) => record.deed.do === wanted && record.version === version);
        assert.ok(found.length > 0, `${type} ${version} was answered to somebody`);
        if (wanted === 'rename') assert.equal(found.length, 1);
      } else if (type === 'entitlement.created') {
        const found = records.filter(({ answer }) => answer.status === 201 && answer.json<EntitlementJson>().id === id);
        assert.equal(found.length, 1);
      } else if (type === 'entitlement.terminated') {
        assert.ok(records.some(({ deed }) => deed.do === 'end' && deed.id === id));
      }
    }
  }
});
