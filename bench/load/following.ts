/** Clients that are led by links: each request goes where the last answer said. */
import { type Connection, openConnections } from './connection.ts';
import type { FloodResult } from './flood.ts';

export interface Step {
  readonly method: string;
  /** Where it goes: a path, or the link of this relation in the last answer. */
  readonly to: { readonly path: string } | { readonly rel: string; readonly query?: string };
  readonly headers?: Readonly<Record<string, string>>;
  readonly bodyBytes?: number;
  readonly body?: string;
  readonly status: number;
  /** How many messages are dealt with when it is answered. */
  readonly messages: number;
}

/** What every client does: the beginning once, then the cycle again and again. */
export interface Steps {
  readonly begin?: Step;
  readonly cycle: readonly Step[];
  /** A client that is told 204 has come to the end, and begins anew. Otherwise that is an error. */
  readonly endsWith204?: boolean;
}

export interface FollowOrder {
  readonly ports: readonly number[];
  readonly connections: number;
  readonly steps: Steps;
  readonly until: { readonly seconds: number };
  readonly warmUp: number;
}

export async function follow({ ports, connections: count, steps, until, warmUp }: FollowOrder): Promise<FloodResult> {
  const connections = await openConnections(ports, count);
  const times: number[] = [];
  let messages = 0;
  let from = performance.now() + warmUp * 1000;
  let utilization = performance.eventLoopUtilization();
  const onMessages = (dealtWith: number, took: number): void => {
    if (performance.now() < from) return;
    messages += dealtWith;
    times.push(took);
  };
  try {
    await new Promise<void>((resolve, reject) => {
      setTimeout(resolve, (warmUp + until.seconds) * 1000);
      setTimeout(() => {
        utilization = performance.eventLoopUtilization();
        from = performance.now();
      }, warmUp * 1000);
      for (const connection of connections) lead(connection, steps, onMessages, reject);
    });
  } finally {
    for (const connection of connections) connection.close();
  }
  const seconds = (performance.now() - from) / 1000;
  const busy = performance.eventLoopUtilization(utilization).utilization;
  return { answers: messages, rate: messages / seconds, times: Float64Array.from(times), busy };
}

/** Leads one client until its connection is closed. */
function lead(
  connection: Connection,
  { begin, cycle, endsWith204 = false }: Steps,
  onMessages: (count: number, took: number) => void,
  fail: (error: Error) => void,
): void {
  /** The place in the cycle; -1: the beginning. */
  let place = begin === undefined ? 0 : -1;
  let begun = performance.now();
  const stepAt = (): Step => (place < 0 ? begin : cycle[place]) as Step;
  const bodies = new Map([...(begin ? [begin] : []), ...cycle].map((step) => [step, bodyOf(step)]));

  const send = (head: string): void => {
    const step = stepAt();
    const path = 'path' in step.to ? step.to.path : pathOfLink(head, step.to.rel) + (step.to.query ?? '');
    connection.send(requestOf(step, path, bodies.get(step) as Buffer));
  };
  connection.onLost = fail;
  connection.onAnswer = (status, head) => {
    const step = stepAt();
    try {
      if (endsWith204 && status === 204) {
        place = begin === undefined ? 0 : -1;
      } else if (status !== step.status) {
        throw new Error(`${step.method} ${JSON.stringify(step.to)} was answered ${status} instead of ${step.status}`);
      } else {
        const now = performance.now();
        if (step.messages > 0) {
          onMessages(step.messages, now - begun);
          begun = now;
        }
        place = (place + 1) % cycle.length;
      }
      send(head);
    } catch (error) {
      fail(error as Error);
    }
  };
  send('');
}

const bodyOf = ({ body, bodyBytes = 0 }: Step): Buffer =>
  body === undefined ? Buffer.alloc(bodyBytes, 'x') : Buffer.from(body);

function requestOf({ method, headers = {} }: Step, path: string, body: Buffer): Buffer {
  let lines = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n`;
  for (const name in headers) lines += `${name}: ${headers[name]}\r\n`;
  return Buffer.concat([Buffer.from(`${lines}\r\n`, 'latin1'), body]);
}

/** The path of a link in the head of an answer, whose links are absolute. */
export function pathOfLink(head: string, rel: string): string {
  const end = head.indexOf(`>; rel="${rel}"`);
  if (end < 0) throw new Error(`there is no link "${rel}" in\n${head}`);
  const href = head.slice(head.lastIndexOf('<', end) + 1, end);
  return href.slice(href.indexOf('/', 'http://'.length));
}
