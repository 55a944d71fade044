/** What is impossible about messages, each by itself and those of a batch or a queue together. */
import type { Entry } from './ledger.ts';

/** Receives of one queue that were cut off, and how many messages they may have taken. */
export type Cut = { receives: number; most: number };

export function faultsOfEntries(entries: readonly Entry[], cuts: ReadonlyMap<string, Cut>): string[] {
  return [...entries.flatMap(faultsOf), ...overdrawn(entries, cuts), ...halves(entries)];
}

/** Nobody received it, and its address says that somebody's receive has taken it. */
export function isTaken({ place, location, receipts, look }: Entry): boolean {
  if (place.kind !== 'queue' || location === undefined || receipts.length > 0) return false;
  return look !== undefined && look.status === 200 && look.whole && look.state === 'acknowledged';
}

/** Where it is: told by the answer to its sender, or to whoever it was handed out to. */
export const addressOf = ({ location, deliveries }: Entry): string | undefined => location ?? deliveries[0]?.location;

const nameOf = ({ key, way, place }: Entry): string => `${key} (${way} to ${place.path})`;

/** What is impossible about one message. */
function faultsOf(entry: Entry): string[] {
  const { way, place, location, stored, repeated, tries } = entry;
  const faults: string[] = [];
  if (stored > 1) faults.push(`was stored ${stored} times in ${tries} tries`);
  if (repeated > 0 && tries === 1) faults.push('was said to be a repetition at the first try');
  const isSure = way === 'put' || way === 'once' || way === 'batch-once';
  if (isSure && location === undefined) faults.push(`had no answer in ${tries} tries`);
  faults.push(...(place.kind === 'leased' ? faultsOfLeased(entry) : faultsOfKept(entry)));
  return faults.map((fault) => `${nameOf(entry)} ${fault}`);
}

/** Of messages that are received for good, or stay in a topic. */
function faultsOfKept(entry: Entry): string[] {
  const { place, location, receipts, look } = entry;
  if (receipts.length > 1) return [`was received ${receipts.length} times`];
  if (location === undefined || receipts.length > 0) return [];
  const isThere = place.kind === 'topic' ? look?.status === 200 && look.whole : isTaken(entry);
  return isThere ? [] : [`is lost: ${describe(entry)}`];
}

/** Of messages that are handed out until they are acknowledged or dead. */
function faultsOfLeased(entry: Entry): string[] {
  const { deliveries, acknowledged, unsure, burials, look } = entry;
  const faults: string[] = [];
  const counts = deliveries.map(({ count }) => count).sort((a, b) => a - b);
  const twice = counts.find((count, index) => count === counts[index - 1]);
  if (twice !== undefined) faults.push(`has two deliveries with the number ${twice}`);
  const last = counts.at(-1) ?? 0;
  if (acknowledged !== undefined && last > acknowledged) {
    faults.push(`was acknowledged at delivery ${acknowledged} and came back with delivery ${last}`);
  }
  if (burials.length > 1) faults.push(`is dead ${burials.length} times`);
  const isMaybe = unsure && look?.status === 200 && look.state === 'acknowledged';
  if ((acknowledged !== undefined || isMaybe) && burials.length > 0) faults.push('was acknowledged and is dead');
  if (isStored(entry) && acknowledged === undefined && burials.length === 0 && !isMaybe) {
    faults.push(`is lost after ${deliveries.length} deliveries: ${describe(entry)}`);
  }
  return faults;
}

/** Whether anybody saw that it was stored. */
const isStored = ({ location, receipts, deliveries, burials }: Entry): boolean =>
  location !== undefined || receipts.length + deliveries.length + burials.length > 0;

function describe(entry: Entry): string {
  const { look } = entry;
  const address = addressOf(entry);
  if (look === undefined) return `nobody has it and nobody looked at ${address}`;
  const body = look.whole || look.status !== 200 ? '' : ', with another body';
  return `${address} says ${look.status} ${look.state ?? ''}${body}`;
}

/** More messages vanished from a queue than the receives under way at the kills could have taken. */
function overdrawn(entries: readonly Entry[], cuts: ReadonlyMap<string, Cut>): string[] {
  const taken = new Map<string, number>();
  for (const entry of entries) {
    if (isTaken(entry)) taken.set(entry.place.path, (taken.get(entry.place.path) ?? 0) + 1);
  }
  return [...taken].flatMap(([destination, count]) => {
    const possible = cuts.get(destination)?.most ?? 0;
    if (count <= possible) return [];
    return `${count} messages of ${destination} were taken, but the receives cut off could take ${possible} only`;
  });
}

/** A batch is stored whole or not at all. Only where nothing vanishes unseen can that be told of an unanswered one. */
function halves(entries: readonly Entry[]): string[] {
  const inBatches = entries.filter(({ batch, place }) => batch !== undefined && place.kind === 'leased');
  return [...Map.groupBy(inBatches, ({ batch }) => batch)].flatMap(([batch, members]) => {
    const stored = members.filter(isStored).length;
    return stored === 0 || stored === members.length ? [] : `${stored} of ${members.length} of ${batch} were stored`;
  });
}
