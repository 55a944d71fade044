/** SQL of reservations and of the places they lock: the same text on both engines. */
import type { Page } from '../http/paging.ts';
import type { XmlNode } from '../http/xml.ts';
import type { Tx } from '../store/store.ts';
import type { Reservation, ReservationKind, ReservationState } from './reservation.ts';

interface ReservationRow {
  readonly id: number;
  readonly kind: ReservationKind;
  readonly transaction_uri: string;
  readonly txn: number | null;
  readonly elements: string;
  readonly state: ReservationState;
  readonly version: number;
  readonly created: number;
}

const RESERVATION = 'SELECT id, kind, transaction_uri, txn, elements, state, version, created FROM reservation';

function toReservation({ transaction_uri, txn, elements, ...row }: ReservationRow): Reservation {
  return { ...row, transactionUri: transaction_uri, transaction: txn, elements: JSON.parse(elements) as XmlNode[] };
}

export async function insertReservation(tx: Tx, reservation: Omit<Reservation, 'state' | 'version'>): Promise<void> {
  const { id, kind, transactionUri, transaction, elements, created } = reservation;
  await tx.run(
    `INSERT INTO reservation (id, kind, transaction_uri, txn, elements, state, version, created)
     VALUES ($1, $2, $3, $4, $5, '', 1, $6)`,
    [id, kind, transactionUri, transaction, JSON.stringify(elements), created],
  );
}

export async function findReservation(tx: Tx, kind: ReservationKind, id: number): Promise<Reservation | undefined> {
  const row = await tx.get<ReservationRow>(`${RESERVATION} WHERE id = $1 AND kind = $2`, [id, kind]);
  return row && toReservation(row);
}

export async function lockReservation(tx: Tx, kind: ReservationKind, id: number): Promise<Reservation | undefined> {
  const row = await tx.get<ReservationRow>(`${RESERVATION} WHERE id = $1 AND kind = $2 ${tx.dialect.forUpdate}`, [
    id,
    kind,
  ]);
  return row && toReservation(row);
}

/** Newest first. */
export async function listReservations(tx: Tx, kind: ReservationKind, page: Page): Promise<Reservation[]> {
  const [comparison, order] = page.backwards ? ['>', 'ASC'] : ['<', 'DESC'];
  const start = page.key === undefined ? Number.MAX_SAFE_INTEGER : Number(page.key) || 0;
  const text = `${RESERVATION} WHERE kind = $1 AND id ${comparison} $2 ORDER BY id ${order} LIMIT $3`;
  return (await tx.all<ReservationRow>(text, [kind, start, page.limit + 1])).map(toReservation);
}

export async function setState(tx: Tx, id: number, state: ReservationState): Promise<void> {
  await tx.run('UPDATE reservation SET state = $2, version = version + 1 WHERE id = $1', [id, state]);
}

/** False when another reservation has the place. */
export async function lockPlace(tx: Tx, kind: ReservationKind, place: string, reservation: number): Promise<boolean> {
  const row = await tx.get(
    `INSERT INTO reservation_lock (kind, place, reservation) VALUES ($1, $2, $3)
     ON CONFLICT (kind, place) DO NOTHING RETURNING reservation`,
    [kind, place, reservation],
  );
  return row !== undefined;
}

export async function freePlaces(tx: Tx, reservation: number): Promise<void> {
  await tx.run('DELETE FROM reservation_lock WHERE reservation = $1', [reservation]);
}

/** Prepared reservations of transactions elsewhere, which may have missed the outcome. */
export async function inDoubt(tx: Tx, after: number, limit: number): Promise<Reservation[]> {
  const text = `${RESERVATION} WHERE state = 'prepared' AND txn IS NULL AND id > $1 ORDER BY id LIMIT $2`;
  return (await tx.all<ReservationRow>(text, [after, limit])).map(toReservation);
}
