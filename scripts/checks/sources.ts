import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of the repository; the path is relative to its root, with forward slashes. The text of a picture is empty. */
export type SourceFile = { path: string; text: string };

/** Something that a check found. */
export type Fault = { file: string; line: number; message: string };

const LEFT_OUT = new Set(['node_modules', '.git', 'data', 'dist', 'coverage', '.DS_Store']);
const BINARY = /\.(png|jpe?g|gif|webp|ico|woff2?|gz|zip|pdf|db)$/;

/** All files that people write. */
export function sourceFiles(root: string): SourceFile[] {
  return pathsIn(root, '')
    .sort()
    .map((path) => ({ path, text: BINARY.test(path) ? '' : readFileSync(join(root, path), 'utf8') }));
}

function pathsIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (LEFT_OUT.has(entry.name)) return [];
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return pathsIn(root, path);
    return entry.isFile() ? [path] : [];
  });
}

/** The number of the line, from 1, that holds the character at this position. */
export function lineAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length;
}
