/** Clients that are led by links: each request goes where the last answer said. */
import { type Connection, openConnections, requestBytes } from './connection.ts';
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
  const onMessages = (dealtWith: number, begun: number, now: number): void => {
    if (now < from) return;
    messages += dealtWith;
    times.push(now - begun);
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
  onMessages: (count: number, begun: number, now: number) => void,
  fail: (error: Error) => void,
): void {
  const first = begin && prepare(begin);
  const prepared = cycle.map(prepare);
  /** The place in the cycle; -1: the beginning. */
  let place = first === undefined ? 0 : -1;
  let current = first ?? (prepared[0] as PreparedStep);
  let begun = performance.now();

  const go = (next: number, head: string): void => {
    place = next;
    current = (next < 0 ? first : prepared[next]) as PreparedStep;
    connection.send(current.requestAfter(head));
  };
  connection.onLost = fail;
  connection.onAnswer = (status, head) => {
    const { step } = current;
    try {
      if (endsWith204 && status === 204) {
        go(first === undefined ? 0 : -1, head);
        return;
      }
      if (status !== step.status) {
        throw new Error(`${step.method} ${JSON.stringify(step.to)} was answered ${status} instead of ${step.status}`);
      }
      if (step.messages > 0) {
        const now = performance.now();
        onMessages(step.messages, begun, now);
        begun = now;
      }
      go(place + 1 === prepared.length ? 0 : place + 1, head);
    } catch (error) {
      fail(error as Error);
    }
  };
  go(place, '');
}

interface PreparedStep {
  readonly step: Step;
  /** The request that follows an answer with this head. It is good until the next one of this step is asked for. */
  requestAfter(head: string): Buffer;
}

/**
 * Most links of one relation are equally long, so the request is made once and a new path written over the old one: a
 * client sends nothing before its last request was answered, and what was answered has been sent.
 */
export function prepare(step: Step): PreparedStep {
  const { method, to, headers = {}, bodyBytes, body } = step;
  const requestTo = (path: string): Buffer => requestBytes({ method, path, headers, bodyBytes, body });
  if ('path' in to) {
    const request = requestTo(to.path);
    return { step, requestAfter: () => request };
  }
  const { rel, query = '' } = to;
  const pathAt = method.length + 1;
  let length = -1;
  let request: Buffer = Buffer.alloc(0);
  return {
    step,
    requestAfter(head) {
      const path = pathOfLink(head, rel);
      if (path.length === length) request.write(path, pathAt, 'latin1');
      else {
        request = requestTo(path + query);
        length = path.length;
      }
      return request;
    },
  };
}

/** The path of a link in the head of an answer, whose links are absolute and have their relation first. */
export function pathOfLink(head: string, rel: string): string {
  for (let from = head.indexOf('<'); from >= 0; from = head.indexOf('<', from + 1)) {
    const end = head.indexOf('>', from);
    const relAt = end + '>; rel="'.length;
    if (head.startsWith(rel, relAt) && head.charCodeAt(relAt + rel.length) === QUOTE) {
      return head.slice(head.indexOf('/', from + '<http://'.length), end);
    }
  }
  throw new Error(`there is no link "${rel}" in\n${head}`);
}

const QUOTE = 0x22;
