/** Verdicts on SQLite. */
import type { DatabaseSync } from 'node:sqlite';
import { isVolatile, type Settlement, type SettleOutcome } from '../../store.ts';

export function createSettling(db: DatabaseSync): (settlement: Settlement) => SettleOutcome {
  const statementsIn = (schema: 'main' | 'volatile') => {
    const delivery = db.prepare(`SELECT state, token, tries FROM ${schema}.delivery WHERE id = ?`);
    delivery.setReturnArrays(true);
    return {
      delivery,
      // Whether the delivery is the newest and not over shows by whether it finds its row: what is usual takes one statement.
      acknowledge: db.prepare(
        `UPDATE ${schema}.delivery SET state = 5, due = ? WHERE id = ? AND token = ? AND state < 4`,
      ),
      settle: db.prepare(`UPDATE ${schema}.delivery SET state = ?, due = ? WHERE id = ?`),
    };
  };
  const durable = statementsIn('main');
  const volatile = statementsIn('volatile');

  return ({ id, token, verdict, due, maxDeliveries, now }) => {
    const statements = isVolatile(id) ? volatile : durable;
    if (verdict === 'acknowledge' && statements.acknowledge.run(due, id, token).changes === 1) return 'done';
    const row = statements.delivery.get(id) as unknown as [state: number, token: number, tries: number] | undefined;
    if (row === undefined) return 'gone';
    const [state, newest, tries] = row;
    if (newest !== token || state === 4 || state > 5) return 'overtaken';
    // Acknowledged before.
    if (verdict === 'acknowledge') return 'done';
    if (verdict === 'extend') {
      if (state === 5) return 'acknowledged';
      statements.settle.run(1, due, id);
      return 'done';
    }
    if (tries >= maxDeliveries) {
      statements.settle.run(1, now, id);
      return 'dead';
    }
    statements.settle.run(due === null ? 0 : 2, due, id);
    return 'done';
  };
}
