import { after, describe } from 'node:test';
import { cases } from './cases.ts';
import { createClient } from './client.ts';
import { createWorld } from './world.ts';

/** Declares the whole suite for one service. Its base URLs need to be known only when the tests run. */
export function declareSuite(bases: () => readonly string[]): void {
  const world = createWorld(createClient(bases));
  for (const [title, declare] of Object.entries(cases)) describe(title, () => declare(world));
  // The last test of all has run when a hook of the surrounding suite is called.
  after(() => world.cleanUp());
}
