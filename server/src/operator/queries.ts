/** SQL of operator notices: the same text on both engines. */
import type { Page } from '../http/paging.ts';
import type { Tx } from '../store/store.ts';
import type { Action, NewNotice, Notice } from './notice.ts';

interface NoticeRow {
  readonly id: number;
  readonly kind: string;
  readonly subject: string;
  readonly title: string;
  readonly detail: string;
  readonly actions: string;
  readonly created: number;
  readonly acknowledged: number | null;
  readonly acknowledged_by: string | null;
  readonly acknowledged_why: string | null;
}

function toNotice(row: NoticeRow): Notice {
  const { id, kind, subject, title, detail, created } = row;
  const notice = { id, kind, subject, title, detail, created, actions: JSON.parse(row.actions) as Action[] };
  if (row.acknowledged === null) return notice;
  const by = row.acknowledged_by ?? undefined;
  const why = row.acknowledged_why ?? undefined;
  const acknowledged = { at: row.acknowledged, ...(by && { by }), ...(why && { why }) };
  return { ...notice, acknowledged };
}

const NOTICE = `SELECT id, kind, subject, title, detail, actions, created, acknowledged, acknowledged_by, acknowledged_why
  FROM operator_notice`;

export async function insertNotice(tx: Tx, id: number, created: number, notice: NewNotice): Promise<void> {
  const { kind, subject, title, detail, actions } = notice;
  await tx.run(
    `INSERT INTO operator_notice (id, kind, subject, title, detail, actions, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, kind, subject, title, detail, JSON.stringify(actions), created],
  );
}

/** An open notice of this kind about this subject. */
export async function findOpenNotice(tx: Tx, kind: string, subject: string): Promise<Notice | undefined> {
  const text = `${NOTICE} WHERE subject = $1 AND kind = $2 AND acknowledged IS NULL`;
  const row = await tx.get<NoticeRow>(text, [subject, kind]);
  return row && toNotice(row);
}

export async function findNotice(tx: Tx, id: number): Promise<Notice | undefined> {
  const row = await tx.get<NoticeRow>(`${NOTICE} WHERE id = $1`, [id]);
  return row && toNotice(row);
}

/** Newest first; only open ones unless `all`. */
export async function listNotices(tx: Tx, page: Page, all: boolean): Promise<Notice[]> {
  const [comparison, order] = page.backwards ? ['>', 'ASC'] : ['<', 'DESC'];
  const start = page.key === undefined ? Number.MAX_SAFE_INTEGER : Number(page.key) || 0;
  const rows = await tx.all<NoticeRow>(
    `${NOTICE} WHERE id ${comparison} $1 ${all ? '' : 'AND acknowledged IS NULL'} ORDER BY id ${order} LIMIT $2`,
    [start, page.limit + 1],
  );
  return rows.map(toNotice);
}

/** False when it was acknowledged before: what was recorded first stays. */
export async function markAcknowledged(
  tx: Tx,
  id: number,
  at: number,
  by: string | undefined,
  why: string | undefined,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE operator_notice SET acknowledged = $2, acknowledged_by = $3, acknowledged_why = $4
     WHERE id = $1 AND acknowledged IS NULL`,
    [id, at, by ?? null, why ?? null],
  );
  return changed > 0;
}
