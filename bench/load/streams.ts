/** Readers of a topic's event stream, and posters whose messages every one of them gets. */
import { connect, type Socket } from 'node:net';
import { openConnection, openConnections, requestBytes } from './connection.ts';
import { pathOfLink } from './following.ts';

export interface StreamOrder {
  readonly port: number;
  readonly topic: string;
  readonly readers: number;
  /** Posts one after another, each when all readers have the one before. */
  readonly single: number;
  /** Then as many as the connections carry, until so many are posted. */
  readonly flood: { readonly posts: number; readonly connections: number };
}

export interface StreamResult {
  /** Milliseconds from sending a post until the last reader has it. */
  readonly times: Float64Array;
  /** Events in a second, over all readers, while posts flow. */
  readonly rate: number;
  /** Posts in a second meanwhile. */
  readonly posts: number;
}

const EVENT = '\ndata: ';
const BODY_BYTES = 1024;

export async function streams({ port, topic, readers, single, flood }: StreamOrder): Promise<StreamResult> {
  let events = 0;
  let expected = 0;
  let onAll = (): void => {};
  let fail = (_: Error): void => {};
  const seen = (count: number): void => {
    events += count;
    if (events === expected) onAll();
  };
  /** Lets something happen; settles when every reader has got so many more events. */
  const afterEvents = (posts: number, act: () => void): Promise<void> =>
    new Promise((resolve, reject) => {
      expected = events + posts * readers;
      onAll = resolve;
      fail = reject;
      act();
    });

  const next = await nextOf(port, topic);
  const sockets = await Promise.all(Array.from({ length: readers }, () => read(port, next, seen, (e) => fail(e))));
  const posters = await openConnections([port], flood.connections);
  const request = requestBytes({
    method: 'POST',
    path: topic,
    headers: { 'Content-Type': 'text/plain' },
    bodyBytes: BODY_BYTES,
  });
  try {
    const times: number[] = [];
    const [first] = posters as [(typeof posters)[0]];
    for (let i = 0; i < single; i++) {
      const begun = performance.now();
      await afterEvents(1, () => first.send(request));
      times.push(performance.now() - begun);
    }
    let left = flood.posts;
    for (const poster of posters) {
      poster.onLost = (error) => fail(error);
      poster.onAnswer = (status) => {
        if (status !== 204) return fail(new Error(`a post was answered ${status}`));
        if (left-- > 0) poster.send(request);
      };
    }
    const begun = performance.now();
    await afterEvents(flood.posts, () => {
      for (const poster of posters) if (left-- > 0) poster.send(request);
    });
    const seconds = (performance.now() - begun) / 1000;
    return { times: Float64Array.from(times), rate: (flood.posts * readers) / seconds, posts: flood.posts / seconds };
  } finally {
    for (const poster of posters) poster.close();
    for (const socket of sockets) socket.destroy();
  }
}

/** The link to what is posted from now on. */
async function nextOf(port: number, topic: string): Promise<string> {
  const connection = await openConnection(port);
  try {
    const head = await new Promise<string>((resolve, reject) => {
      connection.onLost = reject;
      connection.onAnswer = (_status, head) => resolve(head);
      connection.send(requestBytes({ method: 'GET', path: topic }));
    });
    return pathOfLink(head, 'next');
  } finally {
    connection.close();
  }
}

/** Settles when the stream has begun. */
function read(
  port: number,
  next: string,
  seen: (count: number) => void,
  fail: (error: Error) => void,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let tail = '';
    socket.once('connect', () => {
      socket.write(requestBytes({ method: 'GET', path: next, headers: { Accept: 'text/event-stream' } }));
    });
    socket.once('error', (error) => {
      reject(error);
      fail(error);
    });
    socket.once('close', () => fail(new Error('the stream ended')));
    socket.on('data', (chunk) => {
      const text = tail + chunk.toString('latin1');
      // The comment with which every stream begins.
      if (text.includes(': a stream')) resolve(socket);
      let count = 0;
      for (let at = text.indexOf(EVENT); at >= 0; at = text.indexOf(EVENT, at + EVENT.length)) count++;
      tail = text.slice(-(EVENT.length - 1));
      if (count > 0) seen(count);
    });
  });
}
