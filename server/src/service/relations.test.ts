import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Answer, request } from '../../../testing/http.ts';
import { startWaypost } from '../../../testing/waypost.ts';
import { relations, templateRelations } from './relations.ts';

/** The relations of an answer, in its header and in its body. */
function relationsIn(answer: Answer): string[] {
  const inBody = [...answer.text().matchAll(/"rel": ?"([^"]+)"/g)].map((match) => match[1] ?? '');
  return [...answer.links.map(({ rel }) => rel), ...inBody];
}

const templatesIn = (answer: Answer): string[] =>
  [...(answer.headers['link-template'] ?? '').matchAll(/rel="([^"]+)"/g)].map((match) => match[1] ?? '');

test('every relation that is handed out is explained', async () => {
  const waypost = await startWaypost();
  const { url } = waypost;
  const seen = new Set<string>();
  const templates = new Set<string>();
  const note = (answer: Answer): Answer => {
    for (const rel of relationsIn(answer)) seen.add(rel);
    for (const rel of templatesIn(answer)) templates.add(rel);
    return answer;
  };
  const post = async (address: string, body = '', headers: Record<string, string> = {}) =>
    note(await request(address, { method: 'POST', body, headers }));

  await request(`${url}/queues/jobs`, { method: 'PUT', body: 'max-deliveries=1' });
  await request(`${url}/queues/jobs.dead`, { method: 'PUT' });
  await post(`${url}/queues/jobs`, 'hello', { Link: `<${url}/queues/answers>; rel="reply-to"` });
  await post(`${url}/topics/news`, 'hello');
  const polled = await post(`${url}/queues/jobs/poller`);
  note(await request(polled.link('acknowledgement')));
  const { link } = await post(`${url}/queues/jobs/post-once`);
  await post(link('create-next'), 'hello');
  await post(`${url}/queues/jobs/purge`);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const consumer = await post(`${url}/consumers`, 'name=Ada', form);
  const granted = await post(consumer.link('entitlements'), 'product=atlas', form);
  await post(consumer.link('entitlements'), 'product=atlas', form);
  await post(granted.link('terminate'));
  note(await request(`${url}/entitlements`, { headers: { accept: 'application/json' } }));
  await post(consumer.link('terminate'));

  const visited = new Set<string>();
  const open = [`${url}/`, `${url}/queues?per_page=1`];
  for (let address = open.pop(); address !== undefined; address = open.pop()) {
    if (visited.has(address)) continue;
    visited.add(address);
    const answer = note(await request(address));
    const inBody = [...answer.text().matchAll(/"href": ?"([^"]+)"/g)].map((match) => match[1] ?? '');
    for (const href of [...answer.links.map((each) => each.href), ...inBody]) {
      if (href.startsWith(`${url}/`)) open.push(href);
    }
  }
  assert.ok(seen.has('create-next') && seen.has('prev') && seen.has('reply-to-batch-once'), 'the walk went far enough');
  assert.deepEqual(
    [...seen].filter((rel) => !Object.hasOwn(relations, rel)),
    [],
  );
  assert.deepEqual([...templates].sort(), Object.keys(templateRelations).sort());
  await waypost.stop();
});

test('every relation that is explained is used', () => {
  const root = join(import.meta.dirname, '..');
  const files = globSync('**/*.ts', { cwd: root }).filter((file) => !/relations(\.test)?\.ts$/.test(file));
  const sources = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  assert.deepEqual(
    Object.keys(relations).filter((rel) => !sources.includes(`'${rel}'`)),
    [],
  );
});
