/** Posting on SQLite: the rows of all posts of a group are inserted together. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { isVolatile, type PostOutcome } from '../../store.ts';
import { createDeliveryBuffer, createNotedDeliveries } from '../noted-deliveries.ts';
import { createRowBuffer } from '../row-buffer.ts';
import { createChains } from './chains.ts';
import { type HotJob, hotJob, type WriteBehind } from './hot-group.ts';
import type { ArrivingMessage, HotPosting } from './wire.ts';

const QUEUED = ['id', 'dest', 'posted', 'content_type', 'headers', 'body'];
const IN_TOPIC = [...QUEUED, 'pos', 'expires'];

/** From so many queues on, the deliveries of a group are noted rather than entered. */
const MANY_QUEUES = 8;
/** So many are noted at most: they are entered by one turn, for which others wait some milliseconds. */
const MOST_NOTED = 1024;

/** About what a message writes beside its content: its rows and their places in the indexes. */
const ROW_BYTES = 300;

export interface Posting {
  /** The job that stores a posting. */
  job(posting: HotPosting): HotJob<PostOutcome>;
  /** Told of each group before it runs: whether its deliveries may be noted, since nothing but posts is in it. */
  begin(mayNote: boolean): void;
  /** Enters the deliveries that were noted. */
  enterNoted(): void;
  /** Others have had a turn, or what was written was rolled back: what is remembered may no longer be so. */
  disturbed(): void;
}

export function createPosting(db: DatabaseSync): Posting {
  const buffersOf = (schema: 'main' | 'volatile') => ({
    queued: createRowBuffer(db, `${schema}.message`, QUEUED),
    inTopic: createRowBuffer(db, `${schema}.message`, IN_TOPIC),
    delivery: createDeliveryBuffer(db, schema),
  });
  const durable = buffersOf('main');
  const volatile = buffersOf('volatile');
  const buffers = [durable, volatile].flatMap(({ queued, inTopic, delivery }) => [queued, inTopic, delivery]);
  const hasDestination = db.prepare('SELECT 1 FROM destination WHERE id = ?');
  const advanceTopic = db.prepare('UPDATE topic_position SET last = last + ? WHERE dest = ? RETURNING last');
  const chains = createChains(db);
  const noted = createNotedDeliveries(db);
  /** The values of the deliveries that the group has put off, and their queues. */
  let deliveries: SQLInputValue[][] = [];
  const queues = new Set<number>();
  let mayNote = false;
  /** Destinations that were seen. Nobody else has had a turn at the database since, so they are still there. */
  const present = new Set<number>();

  function writeDeliveries(): void {
    const written = deliveries;
    const toMany = mayNote && queues.size >= MANY_QUEUES;
    forgetDeliveries();
    if (toMany && noted.count() < MOST_NOTED) {
      noted.note(written.flat());
      return;
    }
    // The pages that these change are changed by this group, too.
    if (toMany) noted.enter();
    for (const delivery of written) durable.delivery.add(...delivery);
  }

  function forgetDeliveries(): void {
    deliveries = [];
    queues.clear();
  }

  const behind: WriteBehind = {
    flush() {
      try {
        chains.flush();
        writeDeliveries();
        for (const buffer of buffers) buffer.flush();
      } catch (error) {
        // One that threw is empty; those after it belong to the same, failed group.
        behind.discard();
        throw error;
      }
    },
    discard() {
      chains.forget();
      forgetDeliveries();
      for (const buffer of buffers) buffer.discard();
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
    const delivery = [id, destination, rank, arrival, state, delayedUntil, expires, body.length];
    if (!isDurable) volatile.delivery.add(...delivery);
    else {
      deliveries.push(delivery);
      queues.add(destination);
    }
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
    enterNoted: noted.enter,
    disturbed() {
      present.clear();
      chains.forget();
      noted.forget();
    },
  };
}
