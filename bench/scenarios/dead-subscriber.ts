import { createFan, startSink } from '../forwarding.ts';
import { residentMebibytes } from '../resident.ts';
import { type Contender, takeTurns } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';

const LIVING = 99;
const MESSAGES = 200;

/** Ninety-nine subscribers that work, with and without a hundredth whose target never answers. */
export const deadSubscriber: Scenario = {
  name: 'dead-subscriber',
  about: 'messages forwarded to 99 subscribers beside one whose target hangs, to the same without it',
  target: { atLeast: 0.95, text: 'at least 0.95 of the rate without it' },
  async run(context) {
    const sink = await startSink();
    try {
      const waypost = await context.waypost();
      const messages = context.quick ? MESSAGES / 4 : MESSAGES;
      const contender = async (name: string, dead: readonly string[]): Promise<Contender> => {
        context.note(`registering ${name}`);
        const options = { name, rel: 'post-message', subscribers: LIVING, dead };
        const fan = await createFan(context, waypost, sink, options);
        await fan.turn(Math.ceil(messages / 2));
        return { name, turn: () => fan.turn(messages) };
      };
      const alone = await contender('without', []);
      const beside = await contender('with', [`${sink.url}/hang`]);
      const rounds = await takeTurns([beside, alone], context.rounds, context.note);
      const { median, least, most } = rounds.ratio('with', 'without');
      const rate = (of: string): string => `${Math.round(rounds.median(of)).toLocaleString('en')}/s`;
      const detail = `${rate('with')} to ${rate('without')}; rounds ${least.toFixed(2)} to ${most.toFixed(2)}; ${residentMebibytes(waypost.pid).toFixed(0)} MiB resident`;
      return [{ label: '', value: median, unit: 'ratio', detail }];
    } finally {
      sink.stop();
    }
  },
};
