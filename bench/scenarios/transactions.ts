import { onEachEngine } from '../engines.ts';
import { takeTurns } from '../rounds.ts';
import type { Context, Figure, Scenario } from '../scenario.ts';
import { benchClient, rateOf, startParticipants } from '../transactions.ts';

const CLIENTS = 16;
/** Nobody is there: what is linked to it is driven by the bench itself. */
const ELSEWHERE = 'http://127.0.0.1:9/transaction';

/**
 * Whole transactions (begin, two participants, commit), to the same work on the same participants without a transaction:
 * each is prepared and committed by the client, and nobody would clean up after a crash.
 */
export const transactions: Scenario = {
  name: 'transactions',
  about: 'transactions of two participants from begin to commit, to the same work without a transaction',
  run: (context) => onEachEngine(context, [], ({ url }, engine) => measure(context, engine, url)),
};

async function measure(context: Context, engine: string, base: string): Promise<Figure[]> {
  const remote = await startParticipants();
  const client = benchClient(base);
  const kinds = ['airline', 'hotel'] as const;
  const uris = ['a', 'b'].map(remote.uri);
  const works = {
    'in process': async () => {
      const { uri } = await client.begin();
      await Promise.all(kinds.map((kind) => client.reserve(kind, uri)));
      await client.commit(uri);
    },
    'in process, none': async () => {
      const states = await Promise.all(kinds.map((kind) => client.reserve(kind, ELSEWHERE)));
      for (const state of ['prepared', 'committed']) {
        await Promise.all(states.map((uri) => client.order(state, uri, 200)));
      }
    },
    remote: async () => {
      const { uri, participants } = await client.begin();
      await client.register(participants, uris);
      await client.commit(uri);
    },
    'remote, none': async () => {
      for (const state of ['prepared', 'committed'])
        await Promise.all(uris.map((uri) => client.order(state, uri, 204)));
    },
  };
  const contenders = Object.entries(works).map(([name, work]) => ({
    name,
    turn: () => rateOf(CLIENTS, context.seconds, work),
  }));
  try {
    for (const { name, turn } of contenders) {
      context.note(`${engine}: warming up ${name}`);
      await turn();
    }
    const rounds = await takeTurns(contenders, context.rounds, (text) => context.note(`${engine}, ${text}`));
    const rate = (name: string): string => `${Math.round(rounds.median(name)).toLocaleString('en')}/s`;
    return (['in process', 'remote'] as const).map((name) => {
      const { median, least, most } = rounds.ratio(name, `${name}, none`);
      const detail = `${rate(name)} to ${rate(`${name}, none`)} without; rounds ${least.toFixed(2)} to ${most.toFixed(2)}`;
      return { label: `${engine}, two ${name}`, value: median, unit: 'ratio', detail };
    });
  } finally {
    client.close();
    remote.stop();
  }
}
