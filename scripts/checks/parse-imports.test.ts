import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseImports } from './parse-imports.ts';

const found = (source: string) =>
  parseImports(source).map(({ specifier, typeOnly, line }) => `${line} ${typeOnly ? 'type ' : ''}${specifier}`);

test('finds every way of importing', () => {
  const source = `import './a.ts';
import b from "./b.ts";
import * as c from './c.ts';
import d, {
  e,
} from './d.ts';
export { f } from './f.ts';
export * from './g.ts';
const h = await import('./h.ts');
import data from './i.json' with { type: 'json' };`;
  assert.deepEqual(found(source), [
    '1 ./a.ts',
    '2 ./b.ts',
    '3 ./c.ts',
    '6 ./d.ts',
    '7 ./f.ts',
    '8 ./g.ts',
    '9 ./h.ts',
    '10 ./i.json',
  ]);
});

test('tells types from what is loaded', () => {
  const source = `import type { A } from './a.ts';
export type { B } from './b.ts';
import { type C } from './c.ts';
import type from './d.ts';
import type, { e } from './e.ts';
type F = import('./f.ts').F;
type G = typeof import('./g.ts');
export type * from './h.ts';`;
  assert.deepEqual(found(source), [
    '1 type ./a.ts',
    '2 type ./b.ts',
    // The compiler keeps this import, and with it the loading of the file.
    '3 ./c.ts',
    '4 ./d.ts',
    '5 ./e.ts',
    '6 type ./f.ts',
    '7 type ./g.ts',
    '8 type ./h.ts',
  ]);
});

test('is not confused by what only looks like an import', () => {
  const source = `// import './a.ts';
/* export * from './b.ts'; */
const text = "import './c.ts'";
const code = \`import './d.ts'; \${text}\`;
export const from = 'e';
export type Way = 'from' | 'to';
const regex = /import 'f'/;
import.meta.resolve('./g.ts');
export function x(from = 'h') {}
select(\`x\`).from('i');`;
  assert.deepEqual(found(source), []);
});
