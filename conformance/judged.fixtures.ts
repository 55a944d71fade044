/** Fresh services for the suite to judge. Each has a test file of its own, so that they run side by side. */
import { after, before, describe } from 'node:test';
import { freshDatabase } from '../testing/databases.ts';
import { startWaypost, type WaypostProcess } from '../testing/waypost.ts';
import { declareSuite } from './suite.ts';

export type Judged = { name: string; nodes: number; database: boolean };

/** Declares the whole suite for a service that is started for it. */
export function judge({ name, nodes, database }: Judged): void {
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
