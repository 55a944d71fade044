import { openFileLimit, residentMebibytes } from '../resident.ts';
import { median, quantile } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';

const CLIENTS = 5000;
const QUEUES = 50;
/** Files a process has open beside its connections. */
const OTHER_FILES = 200;

/** Clients that wait for messages which do not come, and how soon one of them gets a message that does. */
export const idleClients: Scenario = {
  name: 'idle-clients',
  about: '5 000 long-polling clients on 50 queues: memory of each, and the time from a post to the woken answer',
  async run(context) {
    const limit = openFileLimit();
    if (limit < CLIENTS + OTHER_FILES) {
      throw new Error(`a process may open ${limit} files here; run "ulimit -n ${CLIENTS + OTHER_FILES}" first`);
    }
    const { port, pid } = await context.waypost();
    const queues = Array.from({ length: QUEUES }, (_, i) => `idle-${i}`);
    // Creates the queues, and lets the service reach the size it has without clients.
    context.note('warming up');
    for (const queue of queues) {
      const common = { ports: [port], connections: 8, until: { answers: 100 } };
      await context.load.flood({ ...common, request: { method: 'POST', path: `/queues/${queue}` }, status: 204 });
      const receiving = { method: 'POST', path: `/queues/${queue}/receiving` };
      await context.load.flood({ ...common, request: receiving, status: 200 });
    }
    const before = residentMebibytes(pid);
    context.note(`${CLIENTS} clients are coming`);
    const polls = await context.load.longPolls({ port, clients: CLIENTS, queues, posts: context.quick ? 300 : 2000 });
    try {
      context.note('posting to waiting clients');
      const { woken, posted } = await polls.post();
      const after = residentMebibytes(pid);
      const wokenTimes = [...woken];
      const ofPost = `the post itself was answered after ${median([...posted]).toFixed(2)} ms`;
      return [
        {
          label: 'memory of a client',
          value: ((after - before) * 1024) / CLIENTS,
          unit: 'KiB',
          detail: `${before.toFixed(0)} MiB without, ${after.toFixed(0)} MiB with ${CLIENTS.toLocaleString('en')} clients`,
        },
        { label: 'post to woken answer, median', value: median(wokenTimes), unit: 'ms', detail: ofPost },
        {
          label: 'post to woken answer, p99',
          value: quantile(wokenTimes, 0.99),
          unit: 'ms',
          detail: `${wokenTimes.length.toLocaleString('en')} posts, one after another`,
        },
      ];
    } finally {
      await polls.close();
    }
  },
};
