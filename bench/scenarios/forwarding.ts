import { createFan, type Sink, startSink } from '../forwarding.ts';
import { residentMebibytes } from '../resident.ts';
import { type Contender, takeTurns } from '../rounds.ts';
import type { Context, Figure, Scenario } from '../scenario.ts';
import { BODY_BYTES, CONNECTIONS } from '../throughput.ts';

const FANS = [1, 10, 100];
/** Messages that reach the target in one turn, by all subscribers together. */
const FORWARDED = 10_000;

/** Messages of a topic forwarded to its subscribers, compared with a load generator that posts to the same target. */
export const forwarding: Scenario = {
  name: 'forwarding',
  about: 'messages of 1 KiB forwarded to 1, 10 and 100 subscribers, to direct posts to the same target',
  async run(context) {
    const sink = await startSink();
    try {
      return await measure(context, sink);
    } finally {
      sink.stop();
    }
  },
};

async function measure(context: Context, sink: Sink): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const rel of ['post-message', 'post-message-once']) {
    const waypost = await context.waypost();
    const direct: Contender = {
      name: 'direct',
      async turn() {
        const request = { method: 'POST', path: '/in', bodyBytes: BODY_BYTES };
        const until = { seconds: context.seconds };
        const order = { ports: [sink.port], connections: CONNECTIONS, request, until, status: 204 };
        return (await context.load.flood(order)).rate;
      },
    };
    const fans: Contender[] = [];
    for (const subscribers of FANS) {
      context.note(`registering ${subscribers} subscribers`);
      const fan = await createFan(context, waypost, sink, { name: `to-${subscribers}`, rel, subscribers });
      const messages = Math.ceil((context.quick ? FORWARDED / 4 : FORWARDED) / subscribers);
      await fan.turn(Math.ceil(messages / 4));
      fans.push({ name: `to ${subscribers}`, turn: () => fan.turn(messages) });
    }
    const rounds = await takeTurns([direct, ...fans], Math.min(context.rounds, 3), context.note);
    for (const { name } of fans) {
      const { median } = rounds.ratio(name, 'direct');
      const rate = (of: string): string => `${Math.round(rounds.median(of)).toLocaleString('en')}/s`;
      figures.push({
        label: `${rel} ${name}`,
        value: median,
        unit: 'ratio',
        detail: `${rate(name)} to ${rate('direct')} direct`,
      });
    }
    const memory = residentMebibytes(waypost.pid);
    figures.push({ label: `${rel} memory`, value: memory, unit: 'MiB', detail: 'resident afterwards' });
  }
  return figures;
}
