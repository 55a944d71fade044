import { onEachEngine } from '../engines.ts';
import type { Steps } from '../load.ts';
import type { Rounds } from '../rounds.ts';
import type { Figure, Scenario } from '../scenario.ts';
import { BODY_BYTES, CONNECTIONS, floodInTurns, ratioFigure } from '../throughput.ts';

/** A multiple of what is read at once, so that every answer holds as many. */
const MESSAGES = 20_000;
const AT_ONCE = 100;

/** From the first message to the end, and from the beginning again. */
const reading = (max: number | undefined): Steps => ({
  begin: { method: 'GET', to: { path: '/topics/bench/first' }, status: 200, messages: 1 },
  cycle: [
    {
      method: 'GET',
      to: { rel: 'next', ...(max === undefined ? {} : { query: `?max=${max}` }) },
      status: 200,
      messages: max ?? 1,
    },
  ],
  endsWith204: true,
});

/** Readers that follow `next` through a topic, one message at a time and 100 at a time. */
export const topicReading: Scenario = {
  name: 'topic-reading',
  about: 'messages of 1 KiB read from a topic by 64 readers that follow next, and by next with max=100',
  run: (context) =>
    onEachEngine(context, [], async ({ port }, engine) => {
      context.note('posting what is to be read');
      await context.load.flood({
        ports: [port],
        connections: CONNECTIONS,
        // The first is read by itself.
        until: { answers: MESSAGES + 1 },
        request: { method: 'POST', path: '/topics/bench', bodyBytes: BODY_BYTES },
        status: 204,
      });
      const reader = { ports: [port], path: '', status: 200 };
      const names = ['next?max=100', 'next'] as const;
      const rounds = await floodInTurns(
        context,
        [
          { ...reader, name: names[0], steps: reading(AT_ONCE), connections: 8 },
          { ...reader, name: names[1], steps: reading(undefined) },
        ],
        { whole: true },
      );
      return [...names.map((name) => rateFigure(rounds, engine, name)), ratioFigure(rounds, `${engine}, ratio`, names)];
    }),
};

function rateFigure(rounds: Rounds, engine: string, name: string): Figure {
  const turns = rounds.turns.get(name) ?? [];
  const detail = `messages in a second; rounds ${Math.round(Math.min(...turns))} to ${Math.round(Math.max(...turns))}`;
  return { label: `${engine}, ${name}`, value: rounds.median(name), unit: '/s', detail };
}
