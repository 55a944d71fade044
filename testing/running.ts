import { after, before } from 'node:test';
import type { Engine, EngineDatabase } from './engines.ts';
import { startWaypost, type WaypostProcess } from './waypost.ts';

/** A service of its own for the tests of one engine, started before the first of them and stopped after the last. */
export function withWaypost(engine: Engine): () => WaypostProcess {
  let database: EngineDatabase;
  let waypost: WaypostProcess;

  before(async () => {
    database = await engine.database();
    waypost = await startWaypost(database.options);
  });

  after(async () => {
    await waypost?.stop();
    await database?.drop();
  });

  return () => waypost;
}
