/**
 * What was sent to a service that is killed again and again, what came back, and what must not have happened. Knows
 * nothing of HTTP or processes: the load writes down what it saw, and `faults` tells what of it is impossible.
 */
import { keyOf } from './bodies.ts';
import { addressOf, type Cut, faultsOfEntries, isTaken } from './faults.ts';
import type { Place } from './places.ts';
import { createReadings } from './readings.ts';

/**
 * How a message is posted. `post` and `batch`: once, whatever the answer. `put`, `once` and `batch-once`: again and again
 * until there is an answer, which the service must recognise as a repetition.
 */
export type Way = 'post' | 'put' | 'once' | 'batch' | 'batch-once';

/** What the address of a message says when all is over. `whole`: the body is the one that was sent. */
export type Look = { status: number; state: string | undefined; whole: boolean };

/** One message and all that is known of it. */
export type Entry = {
  readonly key: string;
  readonly way: Way;
  readonly place: Place;
  /** How many messages were sent before it for the first time. */
  readonly moment: number;
  /** Those of one batch share it. */
  readonly batch: string | undefined;
  /** How often it was sent; more than once only where repetitions are recognised. */
  tries: number;
  /** Its address, once an answer said that it is stored. */
  location: string | undefined;
  /** How many answers said that it is stored now, not before. */
  stored: number;
  /** How many answers said that it was stored before. */
  repeated: number;
  /** The addresses under which it was received for good. */
  readonly receipts: string[];
  /** The addresses under which it was leased, with the number of the delivery. */
  readonly deliveries: { readonly location: string; readonly count: number }[];
  /** The number of the delivery whose acknowledgement was answered. */
  acknowledged: number | undefined;
  /** An acknowledgement had no answer: it may count or not. */
  unsure: boolean;
  /** The addresses under which it was found among the dead letters. */
  readonly burials: string[];
  look: Look | undefined;
};

export type Summary = {
  sent: number;
  answered: number;
  unanswered: number;
  retried: number;
  /** Posts by once-only links of which only a repetition was answered. */
  onceRepeated: number;
  received: number;
  /** Received although no answer had come to the post. */
  receivedUnanswered: number;
  /** Taken by a receive whose answer was cut off, and still readable. */
  taken: number;
  cutReceives: number;
  acknowledged: number;
  redelivered: number;
  unsure: number;
  buried: number;
  /** Messages of topics that readers got, each by each reader. */
  read: number;
};

export type Ledger = {
  /** A message goes out, for the first time or again. */
  sent(way: Way, place: Place, key: string, batch?: string): void;
  /** An answer said that the message is stored, or (`isNew` false) that it was stored before. */
  answered(key: string, location: string, isNew: boolean): void;
  received(destination: string, location: string, body: string): void;
  /** A receive was under way at a kill: it may have taken up to so many messages that nobody got. */
  cut(destination: string, most: number): void;
  /** The message was leased, for the so-manieth time. The key, when it is one of ours. */
  delivered(destination: string, location: string, body: string, count: number): string | undefined;
  /** The acknowledgement of that delivery was answered. */
  acknowledged(key: string, count: number): void;
  /** The acknowledgement had no answer and is not repeated. */
  unsure(key: string): void;
  /** A reader of a topic has its first link: what is sent from now on it must meet, and `all`: what was sent before, too. */
  begins(reader: string, topic: string, all: boolean): void;
  /** A reader that follows `next` came to this message. */
  read(reader: string, topic: string, location: string, body: string): void;
  /** What the address of a message said in the end. */
  looked(key: string, look: Look): void;
  /** Something that is wrong by itself, whatever else happened. */
  wrong(what: string): void;
  /** The messages whose own addresses tell what became of them: stored, and no answer told how they ended. */
  toLookAt(): { key: string; address: string }[];
  entries(destination?: string): Entry[];
  faults(): string[];
  summary(): Summary;
};

/** How the dead-letter queue of a queue is called. */
export const DEAD = '.dead';

export function createLedger(): Ledger {
  const entries = new Map<string, Entry>();
  const cuts = new Map<string, Cut>();
  const readings = createReadings();
  const wrong: string[] = [];
  /** Whose address it is: no two messages share one. */
  const owners = new Map<string, string>();

  function own(location: string, key: string): void {
    const owner = owners.get(location) ?? key;
    owners.set(location, owner);
    if (owner !== key) wrong.push(`${location} stands for ${owner} and for ${key}`);
  }

  /** Whose body it is; undefined, and a fault, when nobody sent it. */
  function entryOf(destination: string, body: string): Entry | undefined {
    const key = keyOf(body);
    const entry = key === undefined ? undefined : entries.get(key);
    if (entry === undefined) wrong.push(`received from ${destination} what nobody sent: ${body.slice(0, 80)}`);
    return entry;
  }

  function comesFrom(entry: Entry, ...possible: string[]): void {
    const { key, place } = entry;
    if (!possible.includes(place.path)) wrong.push(`${key}, sent to ${place.path}, was received from ${possible[0]}`);
  }

  return {
    sent(way, place, key, batch) {
      const known = entries.get(key);
      if (known !== undefined) {
        known.tries++;
        if (way === 'post' || way === 'batch') wrong.push(`the test sent ${key} twice`);
        return;
      }
      entries.set(key, {
        key,
        way,
        place,
        moment: entries.size,
        batch,
        tries: 1,
        location: undefined,
        stored: 0,
        repeated: 0,
        receipts: [],
        deliveries: [],
        acknowledged: undefined,
        unsure: false,
        burials: [],
        look: undefined,
      });
    },
    answered(key, location, isNew) {
      const entry = entries.get(key);
      if (entry === undefined) return void wrong.push(`an answer for ${key}, which was not sent`);
      if (entry.location !== undefined && entry.location !== location) {
        wrong.push(`${key} is at ${entry.location} and at ${location}`);
      }
      entry.location = location;
      if (isNew) entry.stored++;
      else entry.repeated++;
      own(location, key);
    },
    received(destination, location, body) {
      const entry = entryOf(destination, body);
      if (entry === undefined) return;
      const isDead = entry.place.kind === 'leased' && destination === entry.place.path + DEAD;
      if (isDead) entry.burials.push(location);
      else entry.receipts.push(location);
      if (!isDead) comesFrom(entry, destination);
      own(location, entry.key);
    },
    cut(destination, most) {
      const known = cuts.get(destination) ?? { receives: 0, most: 0 };
      cuts.set(destination, { receives: known.receives + 1, most: known.most + most });
    },
    delivered(destination, location, body, count) {
      const entry = entryOf(destination, body);
      if (entry === undefined) return undefined;
      comesFrom(entry, destination);
      entry.deliveries.push({ location, count });
      own(location, entry.key);
      return entry.key;
    },
    acknowledged(key, count) {
      const entry = entries.get(key);
      if (entry !== undefined) entry.acknowledged = count;
    },
    unsure(key) {
      const entry = entries.get(key);
      if (entry !== undefined) entry.unsure = true;
    },
    begins: (reader, topic, all) => readings.begins(reader, topic, all ? 0 : entries.size),
    read(reader, topic, location, body) {
      const entry = entryOf(topic, body);
      if (entry === undefined) return;
      comesFrom(entry, topic);
      own(location, entry.key);
      readings.read(reader, topic, entry.key);
    },
    looked(key, look) {
      const entry = entries.get(key);
      if (entry !== undefined) entry.look = look;
    },
    wrong: (what) => void wrong.push(what),
    toLookAt: () =>
      [...entries.values()].flatMap((entry) => {
        const { key, receipts, acknowledged, burials } = entry;
        const address = addressOf(entry);
        if (address === undefined || receipts.length > 0 || acknowledged !== undefined || burials.length > 0) return [];
        return { key, address };
      }),
    entries: (destination) =>
      [...entries.values()].filter(({ place }) => destination === undefined || place.path === destination),
    faults: () => [...wrong, ...faultsOfEntries([...entries.values()], cuts), ...readings.faults(entries)],
    summary() {
      const all = [...entries.values()];
      const count = (which: (entry: Entry) => boolean): number => all.filter(which).length;
      return {
        sent: all.length,
        answered: count((entry) => entry.location !== undefined),
        unanswered: count((entry) => entry.location === undefined),
        retried: count((entry) => entry.tries > 1),
        onceRepeated: count((entry) => entry.repeated > 0 && entry.stored === 0 && entry.way !== 'put'),
        received: count((entry) => entry.receipts.length > 0),
        receivedUnanswered: count((entry) => entry.receipts.length > 0 && entry.location === undefined),
        taken: count(isTaken),
        cutReceives: [...cuts.values()].reduce((sum, cut) => sum + cut.receives, 0),
        acknowledged: count((entry) => entry.acknowledged !== undefined),
        redelivered: count((entry) => entry.deliveries.length > 1),
        unsure: count((entry) => entry.unsure),
        buried: count((entry) => entry.burials.length > 0),
        read: readings.count(),
      };
    },
  };
}
