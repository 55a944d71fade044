import { residentMebibytes } from '../resident.ts';
import type { Scenario } from '../scenario.ts';
import { benchClient } from '../transactions.ts';

const OPEN = 10_000;
const AT_ONCE = 32;

/** What open transactions cost a service that waits for their clients. None has a timer: the store knows their deadlines. */
export const openTransactions: Scenario = {
  name: 'open-transactions',
  about:
    'resident memory that 10,000 open transactions with a reservation each add, and the time of a commit among them',
  target: { below: 100, text: 'under 100 MiB more' },
  async run(context) {
    const { url, pid } = await context.waypost();
    const client = benchClient(url);
    const open = async (count: number): Promise<void> => {
      let left = count;
      const worker = async (): Promise<void> => {
        while (left-- > 0) await client.reserve('airline', (await client.begin()).uri);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    };
    const commitTime = async (): Promise<number> => {
      const { uri } = await client.begin();
      await client.reserve('airline', uri);
      const began = performance.now();
      await client.commit(uri);
      return performance.now() - began;
    };
    try {
      context.note('warming up');
      await open(1000);
      await commitTime();
      const before = residentMebibytes(pid);
      context.note(`opening ${OPEN.toLocaleString('en')} transactions`);
      await open(OPEN);
      const after = residentMebibytes(pid);
      return [
        {
          label: 'memory',
          value: after - before,
          unit: 'MiB',
          detail: `${before.toFixed(0)} MiB before, ${after.toFixed(0)} MiB with ${OPEN.toLocaleString('en')} more open`,
        },
        {
          label: 'a commit among them',
          value: await commitTime(),
          unit: 'ms',
          detail: 'one participant',
          judged: false,
        },
      ];
    } finally {
      client.close();
    }
  },
};
