import { judge } from './judged.ts';

judge({ name: 'two nodes on one PostgreSQL', nodes: 2, database: true });
