import { consumerPath } from '../filled-consumers.ts';
import type { Engine } from '../filled-store.ts';
import type { RequestParts } from '../load/connection.ts';
import { median } from '../rounds.ts';
import type { Context, Figure, Scenario } from '../scenario.ts';
import { CONNECTIONS } from '../throughput.ts';

/** Consumers that one turn terminates: each can be terminated once. */
const TERMINATIONS = 2000;

/** What a registry of a million consumers does in a second. */
export const consumers: Scenario = {
  name: 'consumers',
  about: 'create, read, list and terminate in a second, with a million consumers and three million entitlements',
  async run(context) {
    return [...(await measure(context, 'sqlite')), ...(await measure(context, 'postgresql'))];
  },
};

async function measure(context: Context, engine: Engine): Promise<Figure[]> {
  const { port } = await context.waypost(await context.registered(engine));
  const accept = { Accept: 'application/json' };
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const common = { ports: [port], connections: CONNECTIONS };
  const timed = { ...common, until: { seconds: context.seconds }, warmUp: 0.3 };
  const reads = Array.from({ length: 1000 }, (_, i) => get(consumerPath((i * 977) % context.million), accept));
  // From the middle down, so that other scenarios find both ends of the list as they were.
  let next = Math.floor(context.million / 2);
  const terminations = (): RequestParts[] =>
    Array.from({ length: TERMINATIONS }, () => {
      // Every tenth is terminated already.
      if (next % 10 === 0) next--;
      return { method: 'POST', path: `${consumerPath(next--)}/terminate` };
    });
  const body = 'name=Ada+Lovelace';
  const deeds: [name: string, turn: () => Promise<{ rate: number }>][] = [
    ['create', () => context.load.flood({ ...timed, request: { ...post('/consumers', form), body }, status: 201 })],
    ['read', () => context.load.flood({ ...timed, request: reads, status: 200 })],
    ['list 100', () => context.load.flood({ ...timed, request: get('/consumers', accept), status: 200 })],
    [
      'terminate',
      () => context.load.flood({ ...common, until: { answers: TERMINATIONS }, request: terminations(), status: 200 }),
    ],
  ];
  const figures: Figure[] = [];
  for (const [name, turn] of deeds) {
    context.note(`${engine}: ${name}, warming up`);
    await turn();
    const rates: number[] = [];
    for (let round = 0; round < context.rounds; round++) {
      context.note(`${engine}: ${name}, round ${round + 1} of ${context.rounds}`);
      rates.push((await turn()).rate);
    }
    const least = Math.round(Math.min(...rates)).toLocaleString('en');
    const most = Math.round(Math.max(...rates)).toLocaleString('en');
    const detail = `${CONNECTIONS} connections; rounds ${least} to ${most}`;
    figures.push({ label: `${name}, ${engine}`, value: median(rates), unit: '/s', detail });
  }
  return figures;
}

const get = (path: string, headers: Record<string, string>): RequestParts => ({ method: 'GET', path, headers });
const post = (path: string, headers: Record<string, string>): RequestParts => ({ method: 'POST', path, headers });
