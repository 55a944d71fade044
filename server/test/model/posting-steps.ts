/** Posting on both sides: plain, under a chosen id, under a create-next link. */
import assert from 'node:assert/strict';
import type { Action, Place } from './history.ts';
import { TOPIC } from './history.ts';
import type { Draft } from './letter.ts';
import type { Letter } from './queue-model.ts';
import type { Issue } from './topic-model.ts';
import { bind, choose, type HeldLink, kindOf, outcomeOf, toPost, type World } from './world.ts';

type Step<Name extends Action['do']> = (world: World, action: Extract<Action, { do: Name }>) => Promise<void>;

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const modelPost = ({ queues, topic }: World, to: Place, drafts: readonly Draft[]): (Letter | Issue)[] | undefined =>
  to === TOPIC ? topic.post(drafts) : queues[to].post(drafts);

function bindAll(world: World, messages: readonly (Letter | Issue)[], ids: readonly number[]): void {
  assert.equal(ids.length, messages.length);
  for (const [index, message] of messages.entries()) bind(world, message, ids[index] as number);
}

export const post: Step<'post'> = async (world, { to, count, wishes }) => {
  const drafts = range(count).map(() => world.draft(wishes));
  const { posting } = world.service.messaging;
  const parcel = { kind: kindOf(to), name: world.nameOf(to), drafts: drafts.map(toPost), wishes };
  const ids = await outcomeOf(posting.post(parcel));
  const messages = modelPost(world, to, drafts);
  if (messages === undefined) assert.equal(ids, 'destination-full');
  else bindAll(world, messages, Array.isArray(ids) ? ids : assert.fail(`refused: ${ids}`));
};

export const put: Step<'put'> = async (world, { to, id, content, wishes }) => {
  const draft = world.draft(wishes, `${id}${content}`);
  const expectation = world.queues[to].put(id, draft);
  const outcome = await outcomeOf(world.service.messaging.posting.put(world.nameOf(to), id, toPost(draft), { wishes }));
  const refusals = { known: false, taken: 'message-id-taken', full: 'destination-full' } as const;
  if (typeof expectation === 'string') {
    assert.equal(outcome, refusals[expectation]);
    return;
  }
  assert.equal(outcome, true);
  const queue = await world.destinationOf(to);
  bind(world, expectation, await world.service.messaging.idOf(queue, id));
};

/** A token is good for one destination, and for messages or batches only. */
const linksOf = ({ service }: World, { to, batch }: Pick<HeldLink, 'to' | 'batch'>) =>
  service.messaging.once.of(kindOf(to), batch);

export const issueLink: Step<'issue link'> = async (world, { client, to, batch }) => {
  const token = linksOf(world, { to, batch }).issue(world.nameOf(to));
  world.clients[client]?.links.push({ to, batch, token, link: world.links.issue() });
};

const allLinks = ({ clients }: World): HeldLink[] => clients.flatMap(({ links }) => links);

/** A12: whatever becomes of a post to a link, the answer carries a link that can be used. */
export const useLink: Step<'use link'> = async (world, { client, pick, count, wishes }) => {
  const own = world.clients[client]?.links ?? [];
  const held = choose(own, allLinks(world), pick);
  if (held === undefined) return;
  const { to, batch, link, token } = held;
  const drafts = range(batch ? count : 1).map(() => ({ ...world.draft(wishes), volatile: false }));
  const before = world.links.stateOf(link);
  const outcome = await outcomeOf(
    linksOf(world, held).use(world.nameOf(to), token, () => drafts.map(toPost), { wishes }),
  );
  const messages = before === 'unused' ? modelPost(world, to, drafts) : undefined;
  if (before === 'unused' && messages === undefined) {
    // Nothing was stored, so the link is as good as before.
    assert.equal(outcome, 'destination-full');
    return;
  }
  assert.ok(typeof outcome === 'object', `a link of ours, ${before}, is answered by ${outcome}`);
  if (before === 'forgotten') assert.ok(outcome.state === 'used' || outcome.state === 'over');
  else assert.equal(outcome.state, { unused: 'posted', used: 'used', over: 'over' }[before]);
  if (outcome.state === 'posted') {
    bindAll(world, messages ?? [], outcome.ids);
    world.links.use(link, outcome.ids);
  }
  own.push({ to, batch, token: outcome.next, link: world.links.issue() });
};

/** A12, A13: GET on a used link leads to what it made. */
export const lookAtLink: Step<'look at link'> = async (world, { client, pick }) => {
  const held = choose(world.clients[client]?.links ?? [], allLinks(world), pick);
  if (held === undefined) return;
  const state = world.links.stateOf(held.link);
  const found = await linksOf(world, held).look(world.nameOf(held.to), held.token);
  if (state === 'forgotten') return;
  assert.equal(found?.state, state);
  if (found?.state === 'used') assert.deepEqual(found.ids, held.link.used?.ids);
};
