/** What the scenarios of forwarding share: a target that counts, and topics whose backlog is let go at once. */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { guardProcess } from '../testing/guard.ts';
import { request } from '../testing/http.ts';
import type { Context } from './scenario.ts';
import { BODY_BYTES, CONNECTIONS } from './throughput.ts';

export interface Sink {
  readonly url: string;
  readonly port: number;
  /** Lets something happen and gives the milliseconds until that many messages have come. */
  timed(messages: number, act: () => Promise<void>): Promise<number>;
  stop(): void;
}

type Report = { port?: number; ready?: true; took?: number };

export async function startSink(): Promise<Sink> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'sink-server.ts'));
  const release = child.pid === undefined ? () => {} : guardProcess(child.pid);
  child.once('exit', release);
  const next = <K extends keyof Report>(key: K): Promise<NonNullable<Report[K]>> =>
    new Promise((resolve) => {
      const heard = (report: Report): void => {
        const value = report[key];
        if (value === undefined) return;
        child.off('message', heard);
        resolve(value as NonNullable<Report[K]>);
      };
      child.on('message', heard);
    });
  const port = await next('port');
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async timed(messages, act) {
      const ready = next('ready');
      const took = next('took');
      child.send({ expect: messages });
      await ready;
      await act();
      return took;
    },
    stop: () => void child.kill(),
  };
}

export interface Fan {
  /** Posts messages while nobody gets them, lets them go, and gives how many reached the sink in a second. */
  turn(messages: number): Promise<number>;
}

/** A topic with that many subscribers at the sink; `dead` ones are told to go where nobody answers. */
export async function createFan(
  context: Context,
  base: { readonly url: string; readonly port: number },
  sink: Sink,
  { name, rel, subscribers, dead = [] }: { name: string; rel: string; subscribers: number; dead?: readonly string[] },
): Promise<Fan> {
  const topic = `${base.url}/topics/${name}`;
  await request(topic, { method: 'PUT' });
  const register = async (href: string): Promise<string> => {
    const answer = await request(`${topic}/subscribers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ rel, href }),
    });
    if (answer.status !== 201) throw new Error(`a subscriber was not registered: ${answer.text()}`);
    return answer.headers.location ?? '';
  };
  const path = rel === 'post-message-once' ? 'once' : 'in';
  const living: string[] = [];
  for (let i = 0; i < subscribers; i++) living.push(await register(`${sink.url}/${path}/${name}/${i}`));
  for (const href of dead) await register(href);
  const all = (action: string): Promise<unknown> =>
    Promise.all(living.map((subscriber) => request(`${subscriber}/${action}`, { method: 'POST' })));

  return {
    async turn(messages) {
      await all('disable');
      await context.load.flood({
        ports: [base.port],
        connections: CONNECTIONS,
        request: { method: 'POST', path: `/topics/${name}`, bodyBytes: BODY_BYTES },
        until: { answers: messages },
        status: 204,
      });
      const took = await sink.timed(messages * subscribers, async () => {
        await all('enable');
      });
      return (messages * subscribers * 1000) / took;
    },
  };
}
