/** News as the text of a notification: `node;arrived;changed;flags`, numbers in base 36, within PostgreSQL's bound. */
import type { Place } from './floors.ts';

export interface Outgoing {
  /** By destination: how many, and the lowest of their places if known. */
  readonly arrived: Map<number, { count: number; lowest: Place | undefined }>;
  readonly changed: Set<number>;
  everything: boolean;
  /** Says only that this node is there. */
  hello: boolean;
}

export interface Incoming {
  readonly node: string;
  readonly arrived: ReadonlyMap<number, number>;
  readonly lowest: ReadonlyMap<number, Place | undefined>;
  readonly changed: readonly number[];
  readonly everything: boolean;
}

/** PostgreSQL takes payloads shorter than 8 000 bytes. */
const MAX_PAYLOAD = 7_999;

const write = (value: number): string => value.toString(36);
const read = (text: string | undefined): number => Number.parseInt(text ?? '', 36);

/** As many payloads as needed, each with whole entries. */
export function encodeNews(node: string, { arrived, changed, everything }: Outgoing): string[] {
  if (everything) return [`${node};;;*`];
  const payloads: string[] = [];
  let arrivals = '';
  let changes = '';
  const flush = (): void => {
    payloads.push(`${node};${arrivals};${changes};`);
    arrivals = '';
    changes = '';
  };
  const makeRoom = (entry: string): void => {
    if (node.length + arrivals.length + changes.length + entry.length + 4 > MAX_PAYLOAD) flush();
  };
  for (const [destination, { count, lowest }] of arrived) {
    const place = lowest === undefined ? '' : `:${write(lowest.rank)}:${write(lowest.ord)}`;
    const entry = `${write(destination)}:${write(count)}${place}`;
    makeRoom(entry);
    arrivals += arrivals === '' ? entry : `,${entry}`;
  }
  for (const destination of changed) {
    const entry = write(destination);
    makeRoom(entry);
    changes += changes === '' ? entry : `,${entry}`;
  }
  if (arrivals !== '' || changes !== '' || payloads.length === 0) flush();
  return payloads;
}

export function decodeNews(payload: string): Incoming | undefined {
  const [node, arrivals, changes, flags] = payload.split(';');
  if (node === undefined || arrivals === undefined || changes === undefined || flags === undefined) return undefined;
  const arrived = new Map<number, number>();
  const lowest = new Map<number, Place | undefined>();
  for (const entry of arrivals.split(',').filter(Boolean)) {
    const [destination, count, rank, ord] = entry.split(':');
    arrived.set(read(destination), read(count));
    lowest.set(read(destination), rank === undefined ? undefined : { rank: read(rank), ord: read(ord) });
  }
  return { node, arrived, lowest, changed: changes.split(',').filter(Boolean).map(read), everything: flags === '*' };
}

const ARRIVALS_A_MILLISECOND = 8;
const LONGEST_REST = 10;

/**
 * How long to gather news after these were sent, in milliseconds. A notification costs the server and all nodes together as
 * much as some five posts, so a flood is told of in few of them. One that tells of a few arrivals is followed by the next
 * at once: who waits for an answer through another node does not wait longer.
 */
export function restAfter({ arrived }: Outgoing): number {
  let count = 0;
  for (const news of arrived.values()) count += news.count;
  return Math.min(LONGEST_REST, Math.floor(count / ARRIVALS_A_MILLISECOND));
}
