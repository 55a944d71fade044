/** Every use case of messaging raced sixteen at once: on SQLite, and on two nodes that share one PostgreSQL. */
import { after, before, describe } from 'node:test';
import { clearingRaces } from './races/clearing.cases.ts';
import { linkRaces } from './races/links.cases.ts';
import { type Nodes, openNodes } from './races/nodes.ts';
import { postingRaces } from './races/posting.cases.ts';
import { receivingRaces } from './races/receiving.cases.ts';
import { topicRaces } from './races/topic.cases.ts';

for (const engine of ['sqlite', 'postgresql'] as const) {
  describe(`races of messaging, ${engine}`, { timeout: 240_000 }, () => {
    let opened: Nodes;
    before(async () => {
      opened = await openNodes(engine);
    });
    after(() => opened.close());
    const nodes = (): Nodes => opened;

    describe('posting', () => postingRaces(nodes));
    describe('links', () => linkRaces(nodes));
    describe('receiving', () => receivingRaces(nodes));
    describe('clearing and settings', () => clearingRaces(nodes));
    describe('topics', () => topicRaces(nodes));
  });
}
