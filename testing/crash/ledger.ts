/**
 * What was sent to a service that is killed again and again, what came back, and what must not have happened. Knows
 * nothing of HTTP or processes: the load writes down what it saw, and `faults` tells what of it is impossible.
 */
import { keyOf } from './bodies.ts';

/** `post`: to a queue, an answer says it is stored. `put`: under an id of its own, repeated. `topic`: to a topic. */
export type Way = 'post' | 'put' | 'topic';

/** What the address of a message says when all is over. `whole`: the body is the one that was sent. */
export type Look = { status: number; state: string | undefined; whole: boolean };

/** One message and all that is known of it. */
export type Entry = {
  readonly key: string;
  readonly way: Way;
  readonly destination: string;
  /** How often it was sent; more than once only under an id of its own. */
  tries: number;
  /** Its address, once an answer said that it is stored. */
  location: string | undefined;
  /** How many answers said that it is stored now, not before. */
  stored: number;
  /** The addresses under which it was received. */
  readonly receipts: string[];
  look: Look | undefined;
};

export type Summary = {
  sent: number;
  answered: number;
  unanswered: number;
  retried: number;
  received: number;
  /** Received although no answer had come to the post. */
  receivedUnanswered: number;
  /** Taken by a receive whose answer was cut off, and still readable. */
  taken: number;
  cutReceives: number;
};

export type Ledger = {
  /** A message goes out, for the first time or again. */
  sent(way: Way, destination: string, key: string): void;
  /** An answer said that the message is stored, or (`isNew` false) that it was stored before. */
  answered(key: string, location: string, isNew: boolean): void;
  received(destination: string, location: string, body: string): void;
  /** A receive was under way at a kill: it may have taken up to so many messages that nobody got. */
  cut(destination: string, most: number): void;
  /** What the address of a message said in the end. */
  looked(key: string, look: Look): void;
  /** Something that is wrong by itself, whatever else happened. */
  wrong(what: string): void;
  /** The messages whose own addresses tell what became of them: answered, and not received by anybody. */
  toLookAt(): Entry[];
  entries(destination?: string): Entry[];
  faults(): string[];
  summary(): Summary;
};

export function createLedger(): Ledger {
  const entries = new Map<string, Entry>();
  const cuts = new Map<string, { receives: number; most: number }>();
  const wrong: string[] = [];
  /** Whose address it is: no two messages share one. */
  const owners = new Map<string, string>();

  function own(location: string, key: string): void {
    const owner = owners.get(location) ?? key;
    owners.set(location, owner);
    if (owner !== key) wrong.push(`${location} stands for ${owner} and for ${key}`);
  }

  return {
    sent(way, destination, key) {
      const known = entries.get(key);
      if (known === undefined) {
        const fresh = {
          key,
          way,
          destination,
          tries: 1,
          location: undefined,
          stored: 0,
          receipts: [],
          look: undefined,
        };
        entries.set(key, fresh);
      } else {
        known.tries++;
        if (way !== 'put') wrong.push(`the test sent ${key} twice`);
      }
    },
    answered(key, location, isNew) {
      const entry = entries.get(key);
      if (entry === undefined) return void wrong.push(`an answer for ${key}, which was not sent`);
      if (entry.location !== undefined && entry.location !== location) {
        wrong.push(`${key} is at ${entry.location} and at ${location}`);
      }
      entry.location = location;
      if (isNew) entry.stored++;
      own(location, key);
    },
    received(destination, location, body) {
      const key = keyOf(body);
      const entry = key === undefined ? undefined : entries.get(key);
      if (entry === undefined) {
        return void wrong.push(`received from ${destination} what nobody sent: ${body.slice(0, 80)}`);
      }
      if (entry.destination !== destination || entry.way === 'topic') {
        wrong.push(`${entry.key}, sent to ${entry.destination}, was received from ${destination}`);
      }
      entry.receipts.push(location);
      own(location, entry.key);
    },
    cut(destination, most) {
      const known = cuts.get(destination) ?? { receives: 0, most: 0 };
      cuts.set(destination, { receives: known.receives + 1, most: known.most + most });
    },
    looked(key, look) {
      const entry = entries.get(key);
      if (entry !== undefined) entry.look = look;
    },
    wrong: (what) => void wrong.push(what),
    toLookAt: () =>
      [...entries.values()].filter((entry) => entry.location !== undefined && entry.receipts.length === 0),
    entries: (destination) =>
      [...entries.values()].filter((entry) => destination === undefined || entry.destination === destination),
    faults() {
      const all = [...entries.values()];
      const most = new Map([...cuts].map(([destination, cut]) => [destination, cut.most]));
      return [...wrong, ...all.flatMap(faultsOf), ...overdrawn(all, most)];
    },
    summary() {
      const all = [...entries.values()];
      const count = (which: (entry: Entry) => boolean): number => all.filter(which).length;
      return {
        sent: all.length,
        answered: count((entry) => entry.location !== undefined),
        unanswered: count((entry) => entry.location === undefined),
        retried: count((entry) => entry.tries > 1),
        received: count((entry) => entry.receipts.length > 0),
        receivedUnanswered: count((entry) => entry.receipts.length > 0 && entry.location === undefined),
        taken: count(isTaken),
        cutReceives: [...cuts.values()].reduce((sum, cut) => sum + cut.receives, 0),
      };
    },
  };
}

/** Nobody received it, and its address says that somebody's receive has taken it. */
function isTaken({ way, location, receipts, look }: Entry): boolean {
  if (way === 'topic' || location === undefined || receipts.length > 0) return false;
  return look !== undefined && look.status === 200 && look.whole && look.state === 'acknowledged';
}

/** What is impossible about one message. */
function faultsOf(entry: Entry): string[] {
  const { key, way, destination, location, receipts, stored, tries } = entry;
  const name = `${key} (${way} to ${destination})`;
  const faults: string[] = [];
  if (receipts.length > 1) faults.push(`${name} was received ${receipts.length} times`);
  if (stored > 1) faults.push(`${name} was stored ${stored} times in ${tries} tries`);
  if (way === 'put' && location === undefined) faults.push(`${name} had no answer in ${tries} tries`);
  if (location === undefined || receipts.length > 0) return faults;
  if (way === 'topic') {
    if (entry.look?.status !== 200 || !entry.look.whole) faults.push(`${name} is lost: ${describe(entry)}`);
  } else if (!isTaken(entry)) faults.push(`${name} is lost: ${describe(entry)}`);
  return faults;
}

function describe({ location, look }: Entry): string {
  if (look === undefined) return `nobody received it and nobody looked at ${location}`;
  const body = look.whole || look.status !== 200 ? '' : ', with another body';
  return `${location} says ${look.status} ${look.state ?? ''}${body}`;
}

/** More messages vanished from a queue than the receives under way at the kills could have taken. */
function overdrawn(entries: readonly Entry[], most: ReadonlyMap<string, number>): string[] {
  const taken = new Map<string, number>();
  for (const entry of entries) {
    if (isTaken(entry)) taken.set(entry.destination, (taken.get(entry.destination) ?? 0) + 1);
  }
  return [...taken]
    .filter(([destination, count]) => count > (most.get(destination) ?? 0))
    .map(([destination, count]) => {
      const possible = most.get(destination) ?? 0;
      return `${count} messages of ${destination} were taken, but the receives cut off could take ${possible} only`;
    });
}
