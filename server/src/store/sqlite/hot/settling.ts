/** Verdicts on SQLite: each is a job of the group commit. */
import type { DatabaseSync } from 'node:sqlite';
import { isVolatile, type MessageStore, type Settlement, type SettleOutcome } from '../../store.ts';
import type { GroupCommit } from '../group-commit.ts';

interface DeliveryRow {
  readonly state: number;
  readonly token: number;
  readonly tries: number;
}

export function createSettling(db: DatabaseSync, group: GroupCommit): MessageStore['settle'] {
  const statementsIn = (schema: 'main' | 'volatile') => ({
    delivery: db.prepare(`SELECT state, token, tries FROM ${schema}.delivery WHERE id = ?`),
    // Whether the delivery is the newest and not over shows by whether it finds its row: what is usual takes one statement.
    acknowledge: db.prepare(
      `UPDATE ${schema}.delivery SET state = 5, due = ? WHERE id = ? AND token = ? AND state < 4`,
    ),
    settle: db.prepare(`UPDATE ${schema}.delivery SET state = ?, due = ? WHERE id = ?`),
  });
  const durable = statementsIn('main');
  const volatile = statementsIn('volatile');

  function settle({ id, token, verdict, due, maxDeliveries, now }: Settlement): SettleOutcome {
    const statements = isVolatile(id) ? volatile : durable;
    if (verdict === 'acknowledge' && statements.acknowledge.run(due, id, token).changes === 1) return 'done';
    const row = statements.delivery.get(id) as unknown as DeliveryRow | undefined;
    if (row === undefined) return 'gone';
    if (row.token !== token || row.state === 4 || row.state > 5) return 'overtaken';
    // Acknowledged before.
    if (verdict === 'acknowledge') return 'done';
    if (verdict === 'extend') {
      if (row.state === 5) return 'overtaken';
      statements.settle.run(1, due, id);
      return 'done';
    }
    if (row.tries >= maxDeliveries) {
      statements.settle.run(1, now, id);
      return 'dead';
    }
    statements.settle.run(due === null ? 0 : 2, due, id);
    return 'done';
  }

  return (settlement) => group.submit(() => settle(settlement));
}
