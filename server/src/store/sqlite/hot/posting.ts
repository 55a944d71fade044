/** Posting on SQLite: the rows of all posts of a group are inserted together. */
import type { DatabaseSync } from 'node:sqlite';
import { isVolatile, type PostOutcome } from '../../store.ts';
import { createDeliveryBuffer } from '../noted-deliveries.ts';
import { createRowBuffer } from '../row-buffer.ts';
import { createChains } from './chains.ts';
import { createDeliveries } from './deliveries.ts';
import { type HotJob, hotJob, type WriteBehind } from './hot-group.ts';
import type { ArrivingMessage, HotPosting } from './wire.ts';

const QUEUED = ['id', 'dest', 'posted', 'content_type', 'headers', 'body'];
const IN_TOPIC = [...QUEUED, 'pos', 'expires'];

/** About what a message writes beside its content: its rows and their places in the indexes. */
const ROW_BYTES = 300;

export interface Posting {
  /** The job that stores a posting. */
  job(posting: HotPosting): HotJob<PostOutcome>;
  /** Told of each group before it runs: whether nothing but posts is in it. */
  begin(onlyPosts: boolean): void;
  /** Enters the deliveries that were only noted: somebody looks at deliveries. */
  enterNoted(): void;
  /** Others have had a turn, or what was written was rolled back: what is remembered may no longer be so. */
  disturbed(): void;
}

export function createPosting(db: DatabaseSync): Posting {
  const buffersOf = (schema: 'main' | 'volatile') => ({
    queued: createRowBuffer(db, `${schema}.message`, QUEUED),
    inTopic: createRowBuffer(db, `${schema}.message`, IN_TOPIC),
  });
  const durable = buffersOf('main');
  const volatile = buffersOf('volatile');
  const deliveries = createDeliveries(db);
  const volatileDeliveries = createDeliveryBuffer(db, 'volatile');
  const buffers = [durable, volatile].flatMap(({ queued, inTopic }) => [queued, inTopic]).concat(volatileDeliveries);
  const hasDestination = db.prepare('SELECT 1 FROM destination WHERE id = ?');
  const advanceTopic = db.prepare('UPDATE topic_position SET last = last + ? WHERE dest = ? RETURNING last');
  const chains = createChains(db);
  let mayNote = false;
  /** Destinations that were seen. Nobody else has had a turn at the database since, so they are still there. */
  const present = new Set<number>();

  const behind: WriteBehind = {
    flush() {
      try {
        chains.flush();
        for (const buffer of buffers) buffer.flush();
        deliveries.flush(mayNote);
      } catch (error) {
        // One that threw is empty; those after it belong to the same, failed group.
        behind.discard();
        throw error;
      }
    },
    discard() {
      chains.forget();
      for (const buffer of buffers) buffer.discard();
      deliveries.discard();
    },
  };

  function isPresent(destination: number): boolean {
    if (present.has(destination)) return true;
    if (hasDestination.get(destination) === undefined) return false;
    present.add(destination);
    return true;
  }

  function insert({ destination, posted }: HotPosting, message: ArrivingMessage, position: number | null): void {
    const { id, contentType, headers, delayedUntil, expires, rank, arrival, body } = message;
    const isDurable = !isVolatile(id);
    const into = isDurable ? durable : volatile;
    if (position !== null) {
      into.inTopic.add(id, destination, posted, contentType, headers, body, position, expires);
      return;
    }
    into.queued.add(id, destination, posted, contentType, headers, body);
    const state = delayedUntil === null ? 0 : 2;
    const size = body.length;
    if (isDurable) deliveries.add(destination, id, destination, rank, arrival, state, delayedUntil, expires, size);
    else volatileDeliveries.add(id, destination, rank, arrival, state, delayedUntil, expires, size);
  }

  function post(posting: HotPosting): PostOutcome {
    const { destination, kind, messages, once } = posting;
    if (!isPresent(destination)) return 'no-destination';
    if (once !== undefined && !chains.use(once)) return 'once-used';
    let position: number | null = null;
    if (kind === 'topic') {
      const row = advanceTopic.get(messages.length, destination) as { last: number };
      position = row.last - messages.length;
    }
    for (const message of messages) {
      if (position !== null) position++;
      insert(posting, message, position);
    }
    return 'stored';
  }

  return {
    job(posting) {
      let bytes = 0;
      let grows = false;
      for (const { id, body, headers } of posting.messages) {
        bytes += body.length + headers.length + ROW_BYTES;
        if (!isVolatile(id)) grows = true;
      }
      return hotJob(() => post(posting), { bytes, grows, behind });
    },
    begin(onlyPosts) {
      mayNote = onlyPosts;
    },
    enterNoted: deliveries.enterNoted,
    disturbed() {
      present.clear();
      chains.forget();
      deliveries.disturbed();
    },
  };
}
