/** As many requests as the connections carry, each sent when the one before it on its connection was answered. */
import { openConnections, type RequestParts, requestBytes } from './connection.ts';

export interface FloodOrder {
  /** The connections are spread evenly over these. */
  readonly ports: readonly number[];
  readonly connections: number;
  /** Several are sent in turn. */
  readonly request: RequestParts | readonly RequestParts[];
  /** Ends after so long, or after so many answers. */
  readonly until: { readonly seconds: number } | { readonly answers: number };
  /** Seconds at the beginning that do not count. */
  readonly warmUp?: number;
  /** The only status that is right. */
  readonly status: number;
}

export interface FloodResult {
  readonly answers: number;
  /** Answers in a second. */
  readonly rate: number;
  /** Milliseconds of each counted answer. */
  readonly times: Float64Array;
  /** The share of time in which the generator was busy: near 1 it is the one that is measured. */
  readonly busy: number;
}

export async function flood(order: FloodOrder): Promise<FloodResult> {
  const connections = await openConnections(order.ports, order.connections);
  const parts = 'method' in order.request ? [order.request] : order.request;
  const requests = parts.map(requestBytes);
  const wanted = 'answers' in order.until ? order.until.answers : Number.POSITIVE_INFINITY;
  const times: number[] = [];
  const warmUp = (order.warmUp ?? 0) * 1000;
  let sent = 0;
  let from = performance.now() + warmUp;
  let utilization = performance.eventLoopUtilization();

  try {
    await new Promise<void>((resolve, reject) => {
      if ('seconds' in order.until) setTimeout(resolve, warmUp + order.until.seconds * 1000);
      setTimeout(() => {
        utilization = performance.eventLoopUtilization();
        from = performance.now();
      }, warmUp);
      for (const connection of connections) {
        let begun = 0;
        let turn = 0;
        const send = (): void => {
          if (sent >= wanted) return;
          turn = sent++ % requests.length;
          begun = performance.now();
          connection.send(requests[turn] as Buffer);
        };
        connection.onLost = reject;
        connection.onAnswer = (status) => {
          if (status !== order.status) {
            const { method, path } = parts[turn] as RequestParts;
            reject(new Error(`${method} ${path} was answered ${status} instead of ${order.status}`));
            return;
          }
          const now = performance.now();
          if (now >= from) times.push(now - begun);
          if (times.length >= wanted) resolve();
          else send();
        };
        send();
      }
    });
  } finally {
    for (const connection of connections) connection.close();
  }
  const seconds = (performance.now() - from) / 1000;
  const busy = performance.eventLoopUtilization(utilization).utilization;
  return { answers: times.length, rate: times.length / seconds, times: Float64Array.from(times), busy };
}
