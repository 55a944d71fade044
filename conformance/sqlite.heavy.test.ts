import { judge } from './judged.fixtures.ts';

judge({ name: 'embedded store', nodes: 1, database: false });
