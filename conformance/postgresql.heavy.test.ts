import { judge } from './judged.ts';

judge({ name: 'PostgreSQL', nodes: 1, database: true });
