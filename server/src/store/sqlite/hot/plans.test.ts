/** No statement of the hot paths may walk over a whole table, or over all that is kept of what was received. */
import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { createClaiming } from './claiming.ts';
import { createForgetting } from './forgetting.ts';
import { openTables } from './hot.fixtures.ts';
import { createSettling } from './settling.ts';

it('every statement of the hot paths goes through an index, and what is found by id goes by it alone', () => {
  const db = openTables();
  const texts: string[] = [];
  const noting = {
    prepare(text: string) {
      texts.push(text);
      return db.prepare(text);
    },
  } as DatabaseSync;
  createClaiming(noting);
  createSettling(noting);
  createForgetting(noting);
  assert.ok(texts.length > 15, 'the statements were looked at');
  for (const text of texts) {
    const steps = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all();
    const plan = steps.map(({ detail }) => detail).join('; ');
    assert.doesNotMatch(plan, /SCAN \S*\b(d|m|delivery|message)\b/, text);
    if (/WHERE id /.test(text)) assert.match(plan, /SEARCH \S*\b(delivery|message) USING INTEGER PRIMARY KEY/, text);
  }
});
