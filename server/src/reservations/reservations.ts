/** Use cases of reservations: make one, look at it, and change its state in step with its transaction. */
import type { Outbound } from '../http/outbound/outbound.ts';
import type { Page } from '../http/paging.ts';
import type { XmlNode } from '../http/xml.ts';
import type { Sealer } from '../ids.ts';
import { Problem } from '../problems.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Order, Reply } from '../transactions/protocol.ts';
import { insertParticipant, shareTransaction } from '../transactions/queries/log.ts';
import type { LocalParticipant } from '../transactions/usecases/participants.ts';
import {
  findReservation,
  freePlaces,
  inDoubt,
  insertReservation,
  listReservations,
  lockPlace,
  lockReservation,
  setState,
} from './queries.ts';
import { MAX_NIGHTS, mayChange, placesOf, type Reservation, type ReservationKind } from './reservation.ts';

export interface Reservations {
  /** `transactionUri` is a path of this service or a URI of another. */
  create(kind: ReservationKind, transactionUri: string, elements: readonly XmlNode[]): Promise<Reservation>;
  /** Throws 404 when there is none. */
  get(kind: ReservationKind, word: string): Promise<Reservation>;
  list(kind: ReservationKind, page: Page): Promise<Reservation[]>;
  /** Throws 409 when the state may not change so now. */
  change(kind: ReservationKind, word: string, to: Order): Promise<Reservation>;
  wordOf(reservation: Pick<Reservation, 'id'>): string;
  /** Asks transactions elsewhere how they ended, for reservations that wait for it. */
  resolveInDoubt(): Promise<void>;
  readonly participant: LocalParticipant;
}

export interface ReservationOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly outbound: Outbound;
  /** The number of a transaction of this service, from its path. */
  readonly transactionOf: (path: string) => number | null | undefined;
  /** The address of a reservation's transaction-state, and back. */
  readonly statePath: (kind: ReservationKind, word: string) => string;
  readonly ofStatePath: (path: string) => { kind: ReservationKind; word: string } | undefined;
  /** The state that an answer about a transaction names. */
  readonly readTransactionState: (type: string | undefined, body: Buffer) => string | undefined;
}

const IN_DOUBT_AT_ONCE = 20;

export function createReservations(options: ReservationOptions): Reservations {
  const { store, sealer, outbound, transactionOf, statePath, ofStatePath, readTransactionState } = options;
  const wordOf = ({ id }: Pick<Reservation, 'id'>): string => sealer.seal(id);
  const missing = (): Problem => new Problem('not-found', 'there is no such reservation');

  async function get(kind: ReservationKind, word: string): Promise<Reservation> {
    const id = sealer.open(word);
    const found = id === undefined ? undefined : await store.read((tx) => findReservation(tx, kind, id));
    if (found === undefined) throw missing();
    return found;
  }

  /** Registers itself with a transaction of this service, in the same commit. */
  async function enlist(
    tx: Tx,
    transaction: number,
    participant: { id: number; uri: string; kind: string },
  ): Promise<void> {
    const found = await shareTransaction(tx, transaction);
    if (found === undefined) throw new Problem('invalid', 'the transaction that is linked does not exist');
    if (found.state !== 'uncommitted' || found.deadline <= store.now()) {
      throw new Problem('conflict', `the transaction is no longer open: ${found.state}`);
    }
    await insertParticipant(tx, transaction, participant);
  }

  /** `by` is the transaction of this service that orders it; undefined for whoever comes over HTTP. */
  async function change(kind: ReservationKind, word: string, to: Order, by?: number): Promise<Reservation> {
    const id = sealer.open(word);
    if (id === undefined) throw missing();
    return store.transaction(async (tx) => {
      // The transaction first, then the reservation: everyone locks in this order.
      const seen = await findReservation(tx, kind, id);
      if (seen === undefined) throw missing();
      if (by !== undefined && seen.transaction !== null && seen.transaction !== by) {
        throw new Problem('out-of-turn', 'the reservation belongs to another transaction');
      }
      const transaction = seen.transaction === null ? undefined : await shareTransaction(tx, seen.transaction);
      const reservation = await lockReservation(tx, kind, id);
      if (reservation === undefined) throw missing();
      const outside = seen.transaction === null ? 'elsewhere' : 'forgotten';
      const late = to === 'prepared' && transaction !== undefined && transaction.deadline <= store.now();
      if (late || !mayChange(reservation.state, to, transaction?.state ?? outside)) {
        const from = reservation.state === '' ? 'its initial state' : reservation.state;
        throw new Problem('out-of-turn', `the reservation cannot go from ${from} to ${to} now`);
      }
      if (reservation.state === to) return reservation;
      if (to === 'prepared') await lockPlaces(tx, reservation);
      if (to === 'rolled-back') await freePlaces(tx, id);
      await setState(tx, id, to);
      return { ...reservation, state: to, version: reservation.version + 1 };
    });
  }

  async function lockPlaces(tx: Tx, { id, kind, elements }: Reservation): Promise<void> {
    const places = placesOf(kind, elements);
    if (places === undefined) throw new Problem('conflict', `no room is given for more than ${MAX_NIGHTS} nights`);
    for (const place of places) {
      if (await lockPlace(tx, kind, place, id)) continue;
      throw new Problem('conflict', `another reservation has it: ${(JSON.parse(place) as string[]).join(', ')}`);
    }
  }

  /** Answers as the address would over HTTP. */
  async function asReply(work: () => Promise<Reservation>): Promise<Reply> {
    try {
      const { state } = await work();
      return { status: 200, ...(state === '' ? {} : { state }) };
    } catch (error) {
      if (error instanceof Problem && error.status < 500) return { status: error.status, detail: error.message };
      throw error;
    }
  }

  const participant: LocalParticipant = {
    matches: (path) => ofStatePath(path) !== undefined,
    order(path, by, order) {
      const found = ofStatePath(path);
      return asReply(() =>
        found === undefined ? Promise.reject(missing()) : change(found.kind, found.word, order, by),
      );
    },
    look(path) {
      const found = ofStatePath(path);
      return asReply(() => (found === undefined ? Promise.reject(missing()) : get(found.kind, found.word)));
    },
  };

  async function askElsewhere(reservation: Reservation): Promise<void> {
    const { status, headers, body } = await outbound.send({
      method: 'GET',
      url: reservation.transactionUri,
      headers: [['Accept', 'application/tx+xml']],
    });
    const state = status === 200 ? readTransactionState(headers['content-type'], body) : undefined;
    if (state === 'committed') await change(reservation.kind, wordOf(reservation), 'committed');
    const isOver = state === 'rolled-back' || status === 404 || status === 410;
    if (isOver) await change(reservation.kind, wordOf(reservation), 'rolled-back');
  }

  let after = 0;
  return {
    get,
    change: (kind, word, to) => change(kind, word, to),
    wordOf,
    participant,
    async create(kind, transactionUri, elements) {
      const transaction = transactionOf(transactionUri) ?? null;
      if (transaction === null) {
        const refusal = await outbound.check(transactionUri);
        if (refusal !== undefined) throw refusal;
      }
      const fresh = { id: store.nextId(), kind, transactionUri, transaction, elements, created: store.now() };
      const self = { id: store.nextId(), uri: statePath(kind, wordOf(fresh)), kind: `${kind}-reservation` };
      await store.transaction(async (tx) => {
        if (transaction !== null) await enlist(tx, transaction, self);
        await insertReservation(tx, fresh);
      });
      return { ...fresh, state: '', version: 1 };
    },
    list: (kind, page) => store.read((tx) => listReservations(tx, kind, page)),
    async resolveInDoubt() {
      const waiting = await store.read((tx) => inDoubt(tx, after, IN_DOUBT_AT_ONCE));
      after = waiting.length < IN_DOUBT_AT_ONCE ? 0 : (waiting.at(-1)?.id ?? 0);
      // One that cannot be reached now is asked again on the next round.
      await Promise.allSettled(waiting.map(askElsewhere));
    },
  };
}
