/**
 * The service is killed with -9 at chosen steps of forwarding, when its target has come to them: what random kills meet
 * now and then is met here every time.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type CrashNode, createNode } from '../../../testing/crash/node.ts';
import { type EngineDatabase, forEachEngine } from '../../../testing/engines.ts';
import { Place } from './service.fixtures.ts';
import { startTarget, type Target } from './target.fixtures.ts';

type Rel = 'post-message' | 'post-message-once';

interface Moment {
  readonly name: string;
  readonly rel: Rel;
  /** What is under way: the request for a link, or this message. */
  readonly step: 'ask' | 'one' | 'two' | 'three';
  /** What has become of it: the target has not got it, took it without an answer, or has answered. */
  readonly state: 'lost' | 'taken' | 'answered';
}

const MESSAGES = ['one', 'two', 'three'];
const STATES = ['lost', 'taken', 'answered'] as const;

const MOMENTS: readonly Moment[] = [
  ...STATES.map((state) => ({ rel: 'post-message-once' as Rel, step: 'ask' as const, state })),
  ...(['post-message', 'post-message-once'] as const).flatMap((rel) =>
    (['one', 'two', 'three'] as const).flatMap((step) => STATES.map((state) => ({ rel, step, state }))),
  ),
].map((moment) => ({ ...moment, name: `${moment.rel}, ${moment.step}: ${moment.state}` }));

/** Resolves when the target has come to that moment for the first time; without an answer, unless it has answered. */
function reached(target: Target, { step, state }: Moment): Promise<void> {
  return new Promise((resolve) => {
    target.whim = (request, response, body) => {
      if (step === 'ask' ? !request.url?.startsWith('/once') : body !== step) return false;
      target.whim = undefined;
      if (state === 'answered') {
        response.once('finish', resolve);
        return false;
      }
      if (state === 'lost') {
        resolve();
        return true;
      }
      // The pattern takes its course, but nobody hears of it.
      response.writeHead = () => response;
      response.end = () => {
        resolve();
        return response;
      };
      return false;
    };
  });
}

forEachEngine('forwarding killed at each step', (engine) => {
  let database: EngineDatabase;
  let node: CrashNode;
  before(async () => {
    database = await engine.database();
    node = await createNode(database.options);
  });
  after(async () => {
    await node.kill();
    await database.drop();
  });

  for (const [index, moment] of MOMENTS.entries()) {
    test(moment.name, { timeout: 60_000 }, async (t) => {
      const ways = await Promise.all(
        (['queues', 'topics'] as const).map(async (kind) => {
          const place = new Place(node.url, kind, `steps-${index}`);
          const target = await startTarget();
          t.after(() => target.close());
          await place.create();
          await place.register(moment.rel, `${target.url}/${moment.rel === 'post-message' ? 'in' : 'once'}`);
          return { kind, place, target };
        }),
      );
      const both = Promise.all(ways.map(({ target }) => reached(target, moment)));
      for (const { place } of ways) for (const body of MESSAGES) await place.post(body);
      await both;
      await node.kill();
      await node.start();
      for (const { kind, place, target } of ways) {
        // Whatever was sent twice comes before this one.
        await place.post('last');
        const expected = [...MESSAGES, 'last'];
        const bodies = (): string[] => target.accepted.map(({ body }) => body);
        await target.until(() => bodies().at(-1) === 'last');
        if (moment.rel === 'post-message-once') assert.deepEqual(bodies(), expected, kind);
        else assert.deepEqual([...new Set(bodies())], expected, kind);
      }
    });
  }
});
