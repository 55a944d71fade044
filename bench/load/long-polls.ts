/** Many clients that wait for a message, and a poster that measures how soon one of them gets what it posted. */
import { type Connection, openConnection, openConnections, requestBytes } from './connection.ts';

export interface LongPollOrder {
  readonly port: number;
  readonly clients: number;
  /** Each queue has an equal share of the clients. */
  readonly queues: readonly string[];
  readonly posts: number;
}

export interface LongPollResult {
  /** Milliseconds from sending the post to the woken client's answer, and to the poster's own. */
  readonly woken: Float64Array;
  readonly posted: Float64Array;
}

const WAIT_SECONDS = 60;
const RIGHT = new Set([200, 204]);

/** The clients wait when `waiting` settles; then `post` posts, one message after another; `close` hangs up. */
export async function openLongPolls(order: LongPollOrder) {
  const requests = order.queues.map((queue) =>
    requestBytes({
      method: 'POST',
      path: `/queues/${queue}/receiving`,
      headers: { 'Accept-Wait': String(WAIT_SECONDS) },
    }),
  );
  const connections = await openConnections([order.port], order.clients);
  let onWoken = (): void => {};
  let fail = (_: Error): void => {};
  for (const [index, connection] of connections.entries()) {
    const request = requests[index % requests.length] as Buffer;
    connection.onLost = (error) => fail(error);
    connection.onAnswer = (status) => {
      if (!RIGHT.has(status)) fail(new Error(`a waiting client was answered ${status}`));
      if (status === 200) onWoken();
      connection.send(request);
    };
    connection.send(request);
  }

  async function post(): Promise<LongPollResult> {
    const poster = await openConnection(order.port);
    const woken: number[] = [];
    const posted: number[] = [];
    try {
      for (let i = 0; i < order.posts; i++) {
        const queue = order.queues[i % order.queues.length] as string;
        await postOne(poster, queue, woken, posted);
      }
    } finally {
      poster.close();
    }
    return { woken: Float64Array.from(woken), posted: Float64Array.from(posted) };
  }

  function postOne(poster: Connection, queue: string, woken: number[], posted: number[]): Promise<void> {
    const request = requestBytes({ method: 'POST', path: `/queues/${queue}`, bodyBytes: 1024 });
    return new Promise((resolve, reject) => {
      const begun = performance.now();
      let missing = 2;
      const note = (times: number[]): void => {
        times.push(performance.now() - begun);
        missing--;
        if (missing === 0) resolve();
      };
      fail = reject;
      poster.onLost = reject;
      poster.onAnswer = (status) =>
        status === 204 ? note(posted) : reject(new Error(`a post was answered ${status}`));
      onWoken = () => note(woken);
      poster.send(request);
    });
  }

  return {
    post,
    close() {
      for (const connection of connections) connection.close();
    },
  };
}
