import { setTimeout as pause } from 'node:timers/promises';
import { request } from '../../testing/http.ts';
import { ENGINES, placeFor } from '../engines.ts';
import type { Engine } from '../filled-store.ts';
import { type Sink, startSink } from '../forwarding.ts';
import { processorMilliseconds, residentMebibytes } from '../resident.ts';
import type { Context, Figure, Scenario } from '../scenario.ts';

const MANY = 10_000;
const REGISTERED_AT_ONCE = 16;
const IDLE_SECONDS = 5;

/** One message to each of ten thousand subscribers, and what they cost while there is none. */
export const manySubscribers: Scenario = {
  name: 'many-subscribers',
  about: 'one message to each of 10 000 subscribers of a topic: time, memory, and the processor while nothing happens',
  async run(context) {
    const sink = await startSink();
    try {
      const figures: Figure[] = [];
      for (const engine of ENGINES) figures.push(...(await measure(context, sink, engine)));
      return figures;
    } finally {
      sink.stop();
    }
  },
};

async function measure(context: Context, sink: Sink, engine: Engine): Promise<Figure[]> {
  const count = context.quick ? MANY / 10 : MANY;
  const place = await placeFor(context, engine);
  const waypost = await context.waypost({ ...place, args: ['--max-subscribers', String(count)] });
  const topic = `${waypost.url}/topics/many`;
  await request(topic, { method: 'PUT' });
  const before = residentMebibytes(waypost.pid);
  let registered = 0;
  const register = async (): Promise<void> => {
    while (registered < count) {
      const number = registered++;
      if (number % 500 === 0) context.note(`${engine}: registering, ${number} of ${count}`);
      const { status } = await request(`${topic}/subscribers`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ rel: 'post-message', href: `${sink.url}/in/${number}` }),
      });
      if (status !== 201) throw new Error(`a subscriber was not registered: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: REGISTERED_AT_ONCE }, register));
  const waiting = residentMebibytes(waypost.pid);

  context.note(`${engine}: idle`);
  const idleFrom = processorMilliseconds(waypost.pid);
  await pause(IDLE_SECONDS * 1000);
  const idle = (processorMilliseconds(waypost.pid) - idleFrom) / IDLE_SECONDS;

  context.note(`${engine}: one message to each`);
  const busyFrom = processorMilliseconds(waypost.pid);
  const took = await sink.timed(count, async () => {
    const { status } = await request(topic, { method: 'POST', body: 'to all' });
    if (status !== 204) throw new Error(`the message was not posted: ${status}`);
  });
  const busy = processorMilliseconds(waypost.pid) - busyFrom;
  const size = count.toLocaleString('en');
  return [
    {
      label: `${engine}, until all have it`,
      value: took,
      unit: 'ms',
      detail: `${size} subscribers, one target; ${Math.round(busy)} ms of processor time`,
    },
    {
      label: `${engine}, memory`,
      value: residentMebibytes(waypost.pid),
      unit: 'MiB',
      detail: `afterwards; ${before.toFixed(0)} MiB before they registered, ${waiting.toFixed(0)} MiB when they had`,
    },
    {
      label: `${engine}, idle`,
      value: idle,
      unit: 'ms',
      detail: `of processor time a second, over ${IDLE_SECONDS} s in which nothing is posted`,
    },
  ];
}
