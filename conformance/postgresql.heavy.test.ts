import { judge } from './judged.fixtures.ts';

judge({ name: 'PostgreSQL', nodes: 1, database: true });
