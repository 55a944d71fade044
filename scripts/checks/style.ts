import { posix } from 'node:path';
import { maskNonCode } from './masking.ts';
import { type Fault, lineAt, type SourceFile } from './sources.ts';

/** A source file that is longer than this has more than one subject. */
export const MOST_LINES = 500;

const SOURCE = /\.(ts|tsx|js|mjs|css|html)$/;
const TEST = /\.(test|cases)\.ts$/;

/** What must not stand anywhere. Written so that the patterns do not find themselves. */
const FORBIDDEN: { pattern: RegExp; message: string }[] = [
  { pattern: /(?<![\w.~)}/-])\/(?:work|root|Users)\/\w/g, message: 'a path of one machine' },
  { pattern: /\/tmp\/[b]rief/g, message: 'a path of one machine' },
  { pattern: /\b(?:TO)DO\b[\s:.!]*$/gm, message: 'a to-do that does not say what' },
  { pattern: /\b(?:FIX)ME\b|\bX(?:XX)\b/g, message: 'a mark in place of a sentence' },
];

/** Tests that do not run. */
const IDLE_TESTS = [/\b(?:test|it|describe|suite|t)\s*\.\s*(?:skip|only|todo)\b/g, /[{,]\s*(?:skip|only|todo)\s*:/g];

/** Checks what the formatter and the compiler do not know about. */
export function styleFaults(files: SourceFile[]): Fault[] {
  const paths = new Set(files.map(({ path }) => path));
  return files.flatMap((file) => [
    ...lengthFaults(file),
    ...forbiddenFaults(file),
    ...idleTestFaults(file),
    ...decisionFaults(file),
    ...linkFaults(file, paths),
  ]);
}

function lengthFaults({ path, text }: SourceFile): Fault[] {
  const lines = text.replace(/\n$/, '').split('\n').length;
  if (!SOURCE.test(path) || lines <= MOST_LINES) return [];
  return [{ file: path, line: lines, message: `${lines} lines; at most ${MOST_LINES} in a source file` }];
}

function forbiddenFaults({ path, text }: SourceFile): Fault[] {
  return FORBIDDEN.flatMap(({ pattern, message }) => matches(path, text, pattern, () => message));
}

function idleTestFaults({ path, text }: SourceFile): Fault[] {
  if (!TEST.test(path)) return [];
  const code = maskNonCode(text);
  return IDLE_TESTS.flatMap((pattern) =>
    matches(path, code, pattern, (found) => `a test that does not always run: ${found.replace(/^[{,]\s*/, '')}`),
  );
}

function decisionFaults({ path }: SourceFile): Fault[] {
  if (!path.startsWith('docs/decisions/')) return [];
  const name = path.slice('docs/decisions/'.length);
  if (name === 'README.md' || /^\d{4}-[a-z0-9]+(-[a-z0-9]+)*\.md$/.test(name)) return [];
  return [{ file: path, line: 1, message: 'a decision is named NNNN-title.md' }];
}

/** Links of Markdown files to other files. Code is no prose: what looks like a link in it is none. */
function linkFaults({ path, text }: SourceFile, paths: Set<string>): Fault[] {
  if (!path.endsWith('.md')) return [];
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1|`[^`\n]*`/gm, (code) => code.replace(/[^\n]/g, ' '));
  const links = [
    ...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g),
    ...prose.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/gm),
  ];
  return links.flatMap((link) => {
    const target = link[1] ?? '';
    if (/^[a-z][a-z0-9+.-]*:|^#|^\/\//i.test(target)) return [];
    const file = decodeURIComponent(target.replace(/[#?].*$/, ''));
    const wanted = file.startsWith('/') ? file.slice(1) : posix.join(posix.dirname(path), file);
    if (exists(wanted.replace(/\/$/, ''), paths)) return [];
    return [{ file: path, line: lineAt(text, link.index), message: `a link to a file that is not there: ${target}` }];
  });
}

function exists(wanted: string, paths: Set<string>): boolean {
  if (wanted === '' || wanted === '.' || paths.has(wanted)) return true;
  for (const path of paths) if (path.startsWith(`${wanted}/`)) return true;
  return false;
}

function matches(file: string, text: string, pattern: RegExp, message: (found: string) => string): Fault[] {
  return [...text.matchAll(pattern)].map((match) => ({
    file,
    line: lineAt(text, match.index),
    message: message(match[0].trim()),
  }));
}
