import { residentMebibytes } from '../resident.ts';
import type { Scenario } from '../scenario.ts';
import { BODY_BYTES, CONNECTIONS } from '../throughput.ts';

/** What is posted and received before the look at the memory. */
const ANSWERS = 20_000;

/** Resident memory of a service whose store holds a million waiting messages, after it has served some traffic. */
export const memory: Scenario = {
  name: 'memory',
  about: 'resident memory with a million waiting messages of 1 KiB, after some traffic',
  target: { below: 400, text: 'under 400 MiB' },
  async run(context) {
    const { port, pid } = await context.waypost(await context.filled('sqlite'));
    const opened = residentMebibytes(pid);
    const common = { ports: [port], connections: CONNECTIONS, until: { answers: ANSWERS } };
    context.note('posting');
    const posting = { method: 'POST', path: '/queues/million', bodyBytes: BODY_BYTES };
    await context.load.flood({ ...common, request: posting, status: 204 });
    context.note('receiving');
    const receiving = { method: 'POST', path: '/queues/million/receiving' };
    await context.load.flood({ ...common, request: receiving, status: 200 });
    const detail = `${opened.toFixed(0)} MiB before ${ANSWERS.toLocaleString('en')} posts and as many receives; ${context.million.toLocaleString('en')} waiting`;
    return [{ label: '', value: residentMebibytes(pid), unit: 'MiB', detail }];
  },
};
