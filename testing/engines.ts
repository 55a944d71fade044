import { rmSync } from 'node:fs';
import { describe } from 'node:test';
import { freshDatabase } from './databases.ts';
import { temporaryFolder } from './folders.ts';

/** A fresh, empty place for the data of one service. */
export type EngineDatabase = {
  /** The flags of `waypost serve` that use it. */
  args: string[];
  /** The same as options: exactly one of the two is there. */
  options: { data: string } | { database: string };
  drop(): Promise<void>;
};

export type Engine = { name: 'sqlite' | 'postgresql'; database(): Promise<EngineDatabase> };

const ENGINES: Engine[] = [
  {
    name: 'sqlite',
    database: async () => {
      const data = temporaryFolder();
      return {
        args: ['--data', data],
        options: { data },
        drop: async () => rmSync(data, { recursive: true, force: true }),
      };
    },
  },
  {
    name: 'postgresql',
    database: async () => {
      const { url, drop } = await freshDatabase();
      return { args: ['--database', url], options: { database: url }, drop };
    },
  },
];

/** Declares the same tests once for each engine. */
export function forEachEngine(name: string, declare: (engine: Engine) => void): void {
  for (const engine of ENGINES) describe(`${name}, ${engine.name}`, () => declare(engine));
}
