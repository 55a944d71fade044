import type { Scenario } from '../scenario.ts';
import { floodInTurns, post, ratioFigure } from '../throughput.ts';

/** The durable post with PostgreSQL as the store, by one node and by two, to the same post on the embedded store. */
export const postgresPost: Scenario = {
  name: 'postgres-post',
  about: 'the durable post on PostgreSQL with real syncs, through one node and through two, to that on SQLite',
  target: { atLeast: 0.55, text: 'at least 0.55 of SQLite' },
  async run(context) {
    const cluster = await context.cluster();
    const sqlite = await context.waypost();
    const alone = await context.waypost({ database: await cluster.createDatabase() });
    const shared = await cluster.createDatabase();
    const pair = [await context.waypost({ database: shared }), await context.waypost({ database: shared })];
    const path = '/queues/bench';
    const rounds = await floodInTurns(context, [
      post('SQLite', [sqlite.port], path),
      post('one node', [alone.port], path),
      post(
        'two nodes',
        pair.map(({ port }) => port),
        path,
      ),
    ]);
    return [
      ratioFigure(rounds, 'one node', ['one node', 'SQLite']),
      // Nodes on one machine share its processors: that says how little they cost each other, not how fast two machines are.
      { ...ratioFigure(rounds, 'two nodes', ['two nodes', 'SQLite']), judged: false },
    ];
  },
};
