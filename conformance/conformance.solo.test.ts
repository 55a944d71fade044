import { after, before, describe } from 'node:test';
import { freshDatabase } from '../testing/databases.ts';
import { startWaypost, type WaypostProcess } from '../testing/waypost.ts';
import { declareSuite } from './suite.ts';

type Target = { name: string; nodes: number; database: boolean };

const TARGETS: Target[] = [
  { name: 'embedded store', nodes: 1, database: false },
  { name: 'PostgreSQL', nodes: 1, database: true },
  { name: 'two nodes on one PostgreSQL', nodes: 2, database: true },
];

for (const { name, nodes, database } of TARGETS) {
  describe(`conformance, ${name}`, () => {
    const processes: WaypostProcess[] = [];
    let drop = async () => {};

    before(async () => {
      const fresh = database ? await freshDatabase() : undefined;
      if (fresh !== undefined) drop = fresh.drop;
      for (let i = 0; i < nodes; i++) {
        const args = ['--log-level', 'warn'];
        processes.push(await startWaypost(fresh === undefined ? { args } : { args, database: fresh.url }));
      }
    });
    declareSuite(() => processes.map(({ url }) => url));
    after(async () => {
      await Promise.all(processes.map((each) => each.stop()));
      await drop();
    });
  });
}
