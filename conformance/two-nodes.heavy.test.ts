import { judge } from './judged.fixtures.ts';

judge({ name: 'two nodes on one PostgreSQL', nodes: 2, database: true });
