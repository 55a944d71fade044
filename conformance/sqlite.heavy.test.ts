import { judge } from './judged.ts';

judge({ name: 'embedded store', nodes: 1, database: false });
