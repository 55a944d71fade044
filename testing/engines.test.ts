import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, test } from 'node:test';
import { type Engine, forEachEngine } from './engines.ts';
import { withConnection } from './postgres.ts';

const seen: string[] = [];
after(() => assert.deepEqual(seen, ['sqlite', 'postgresql']));

const isThere: Record<Engine['name'], (place: string) => Promise<boolean>> = {
  sqlite: async (folder) => existsSync(folder),
  postgresql: (url) =>
    withConnection(url, (query) => query('SELECT 1')).then(
      () => true,
      () => false,
    ),
};

forEachEngine('a place for data', (engine) => {
  test('is fresh, is named by flags and goes when it is dropped', async () => {
    seen.push(engine.name);
    const one = await engine.database();
    const two = await engine.database();
    assert.equal(one.args.length, 2);
    assert.equal(one.args[0], engine.name === 'sqlite' ? '--data' : '--database');
    assert.deepEqual(Object.values(one.options), one.args.slice(1));
    assert.notDeepEqual(one.args, two.args);
    const place = one.args[1] ?? '';
    assert.equal(await isThere[engine.name](place), true);
    await one.drop();
    assert.equal(await isThere[engine.name](place), false);
    await two.drop();
  });
});
