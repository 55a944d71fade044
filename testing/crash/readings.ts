/** What the readers of topics met that follow `next`, and what of it is impossible. */
import type { Entry } from './ledger.ts';

export type Readings = {
  /** The reader must meet all messages sent when so many had been sent before. */
  begins(reader: string, topic: string, moment: number): void;
  read(reader: string, topic: string, key: string): void;
  /** When every reader has read to the end. */
  faults(entries: ReadonlyMap<string, Entry>): string[];
  count(): number;
};

type Reading = { readonly reader: string; readonly topic: string; readonly moment: number; readonly keys: string[] };

export function createReadings(): Readings {
  const readings = new Map<string, Reading>();
  const idOf = (reader: string, topic: string): string => `${reader} of ${topic}`;

  return {
    begins(reader, topic, moment) {
      readings.set(idOf(reader, topic), { reader, topic, moment, keys: [] });
    },
    read(reader, topic, key) {
      const reading = readings.get(idOf(reader, topic));
      if (reading === undefined) throw new Error(`${idOf(reader, topic)} has not begun`);
      reading.keys.push(key);
    },
    faults(entries) {
      const byTopic = Map.groupBy(readings.values(), ({ topic }) => topic);
      return [...byTopic].flatMap(([topic, ofTopic]) => {
        const answered = [...entries.values()].filter(
          ({ place, location }) => place.path === topic && location !== undefined,
        );
        const longest = ofTopic.reduce((best, each) => (each.keys.length > best.keys.length ? each : best));
        return ofTopic.flatMap((reading) =>
          [
            ...repeated(reading),
            ...skipped(reading, answered),
            ...disordered(reading, entries),
            ...other(reading, longest),
          ].map((fault) => `${idOf(reading.reader, topic)} ${fault}`),
        );
      });
    },
    count: () => readings.values().reduce((sum, { keys }) => sum + keys.length, 0),
  };
}

function repeated({ keys }: Reading): string[] {
  const seen = new Set<string>();
  return keys
    .filter((key) => {
      const isNew = !seen.has(key);
      seen.add(key);
      return !isNew;
    })
    .map((key) => `met ${key} again`);
}

function skipped({ keys, moment }: Reading, answered: readonly Entry[]): string[] {
  const met = new Set(keys);
  return answered.filter((entry) => entry.moment >= moment && !met.has(entry.key)).map(({ key }) => `skipped ${key}`);
}

/**
 * A client posts its messages one after another, each under the number of its turn. One whose post had no answer may
 * become visible at any time, so only answered ones count.
 */
function disordered({ keys }: Reading, entries: ReadonlyMap<string, Entry>): string[] {
  const last = new Map<string, number>();
  return keys.flatMap((key) => {
    if (entries.get(key)?.location === undefined) return [];
    const border = key.lastIndexOf('-');
    const [client, turn] = [key.slice(0, border), Number(key.slice(border + 1))];
    const before = last.get(client) ?? 0;
    last.set(client, turn);
    return turn < before ? `met ${key} after number ${before}` : [];
  });
}

/** Everyone meets the same messages in the same order, from where they began. */
function other({ keys }: Reading, longest: Reading): string[] {
  const tail = longest.keys.slice(longest.keys.length - keys.length);
  const index = keys.findIndex((key, place) => key !== tail[place]);
  if (index < 0) return [];
  return [`met ${keys[index]} where ${longest.reader} met ${tail[index]}`];
}
