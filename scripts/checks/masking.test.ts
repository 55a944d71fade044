import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskNonCode } from './masking.ts';

const cases: [what: string, source: string, masked: string][] = [
  ['line comments', "a; // 'b\nc", 'a;      \nc'],
  ['block comments over lines', 'a /* b\n" */ c', 'a     \n     c'],
  ['an open block comment', 'a /* b', 'a     '],
  ['strings', `x('a"b', "c'd")`, `x('   ', "   ")`],
  ['escaped quotes', `'a\\'b' + c`, `'    ' + c`],
  ['comment signs in strings', `'//' + b`, `'  ' + b`],
  ['templates', '`a // @{b + `c@{d}`} e` + f', '`     @{b + ` @{d}`}  ` + f'],
  ['objects in templates', '`@{{ a: { b: 1 } }} x` + c', '`@{{ a: { b: 1 } }}  ` + c'],
  ['regular expressions', `x = /'[/"]\\//g; y`, `x = /       /g; y`],
  ['regular expressions after a keyword', 'return /"/.test(x)', 'return / /.test(x)'],
  ['divisions', `a / b; 'c' / d`, `a / b; ' ' / d`],
];
// `@{` stands for the opening of a placeholder, which would be taken for a slip in an ordinary string.
const opened = (text: string) => text.replaceAll('@{', '${');

for (const [what, source, masked] of cases) {
  test(`masks ${what}`, () => assert.equal(maskNonCode(opened(source)), opened(masked)));
}
