import { onEachEngine } from '../engines.ts';
import { median, takeTurns } from '../rounds.ts';
import type { Context, Figure, Scenario } from '../scenario.ts';
import { benchClient, startParticipants } from '../transactions.ts';

const SIZES = [2, 8, 32] as const;
const COMMITS = 30;
/** Turns that do not count: the programs compile their code in them. */
const WARM_UP = 4;

/** The time of a commit as the participants grow: they are asked side by side, so it must grow far slower than they do. */
export const transactionGrowth: Scenario = {
  name: 'transaction-growth',
  about: 'time of a commit with 32 and with 8 remote participants, to that with 2',
  target: { atMost: 2.5, text: 'at most 2.5' },
  run: (context) => onEachEngine(context, [], ({ url }, engine) => measure(context, engine, url)),
};

async function measure(context: Context, engine: string, base: string): Promise<Figure[]> {
  const remote = await startParticipants();
  const client = benchClient(base);
  const contenders = SIZES.map((size) => ({
    name: String(size),
    async turn() {
      const times: number[] = [];
      for (let i = 0; i < COMMITS; i++) {
        const { uri, participants } = await client.begin();
        await client.register(
          participants,
          Array.from({ length: size }, (_, n) => remote.uri(`p${n}`)),
        );
        const began = performance.now();
        await client.commit(uri);
        times.push(performance.now() - began);
      }
      return median(times);
    },
  }));
  try {
    for (let i = 0; i < WARM_UP; i++) for (const { turn } of contenders) await turn();
    const rounds = await takeTurns(contenders, context.rounds, (text) => context.note(`${engine}, ${text}`));
    const milliseconds = (name: string): string => `${rounds.median(name).toFixed(2)} ms`;
    return ['8', '32'].map((size) => {
      const { median: value, least, most } = rounds.ratio(size, '2');
      const detail = `${milliseconds(size)} to ${milliseconds('2')} with 2; rounds ${least.toFixed(2)} to ${most.toFixed(2)}`;
      return { label: `${engine}, ${size}`, value, unit: 'ratio', detail };
    });
  } finally {
    client.close();
    remote.stop();
  }
}
