import { createFan, startSink } from '../forwarding.ts';
import { processorMilliseconds, residentMebibytes } from '../resident.ts';
import { type Contender, takeTurns } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';

const LIVING = 99;
const MESSAGES = 200;
/** A turn is short, so that there can be many: on a busy machine the median of a few says nothing. */
const ROUNDS_FACTOR = 2;

/** Ninety-nine subscribers that work, with and without a hundredth whose target never answers. */
export const deadSubscriber: Scenario = {
  name: 'dead-subscriber',
  about: 'messages forwarded to 99 subscribers beside one whose target hangs, to the same without it',
  target: { atLeast: 0.95, text: 'at least 0.95 of the rate without it' },
  async run(context) {
    const sink = await startSink();
    try {
      const waypost = await context.waypost();
      const messages = context.quick ? MESSAGES / 2 : MESSAGES;
      const busy = { with: 0, without: 0 };
      const contender = async (name: 'with' | 'without', dead: readonly string[]): Promise<Contender> => {
        context.note(`registering ${name}`);
        const options = { name, rel: 'post-message', subscribers: LIVING, dead };
        const fan = await createFan(context, waypost, sink, options);
        const turn = async (): Promise<number> => {
          const before = processorMilliseconds(waypost.pid);
          const rate = await fan.turn(messages);
          busy[name] += processorMilliseconds(waypost.pid) - before;
          return rate;
        };
        return { name, turn };
      };
      const contenders = [await contender('with', [`${sink.url}/hang`]), await contender('without', [])];
      await takeTurns(contenders, 2, () => context.note('warming up'));
      Object.assign(busy, { with: 0, without: 0 });
      const count = context.rounds * ROUNDS_FACTOR;
      const rounds = await takeTurns(contenders, count, context.note);
      const { median, least, most } = rounds.ratio('with', 'without');
      const rate = (of: string): string => `${Math.round(rounds.median(of)).toLocaleString('en')}/s`;
      const each = (of: 'with' | 'without'): string =>
        `${Math.round((busy[of] * 1000) / (count * messages * LIVING))} µs`;
      const detail = [
        `${rate('with')} to ${rate('without')}`,
        `rounds ${least.toFixed(2)} to ${most.toFixed(2)}`,
        `processor time a message ${each('with')} to ${each('without')}`,
        `${residentMebibytes(waypost.pid).toFixed(0)} MiB resident`,
      ].join('; ');
      return [{ label: '', value: median, unit: 'ratio', detail }];
    } finally {
      sink.stop();
    }
  },
};
