import { posix } from 'node:path';
import { cycles } from './cycles.ts';
import { RESTRICTIONS, type Restriction, ROLES, type Role } from './import-rules.ts';
import { parseImports } from './parse-imports.ts';
import type { Fault, SourceFile } from './sources.ts';

export type { Fault } from './sources.ts';

const SOURCE = /\.(ts|tsx|js|mjs)$/;

type Edge = { from: string; target: string; typeOnly: boolean; line: number };

/** Checks all imports of the repository against the table of rules and for cycles. */
export function importFaults(
  files: SourceFile[],
  roles: Role[] = ROLES,
  restrictions: Restriction[] = RESTRICTIONS,
): Fault[] {
  const sources = files.filter(({ path }) => SOURCE.test(path) && path.includes('/'));
  const edges = sources.flatMap(edgesOf);
  return [
    ...sources.flatMap(({ path }) => withoutRole(path, roles)),
    ...edges.flatMap((edge) => roleFaults(edge, roles)),
    ...edges.flatMap((edge) => restrictionFaults(edge, restrictions)),
    ...cycleFaults(edges),
  ];
}

function edgesOf({ path, text }: SourceFile): Edge[] {
  return parseImports(text).map(({ specifier, typeOnly, line }) => ({
    from: path,
    target: targetOf(path, specifier),
    typeOnly,
    line,
  }));
}

/** A path from the root of the repository, `node:name` or `npm:name`. */
function targetOf(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier);
  if (specifier.startsWith('node:')) return specifier;
  const parts = specifier.split('/');
  return `npm:${parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/')}`;
}

function withoutRole(path: string, roles: Role[]): Fault[] {
  if (roleOf(path, roles) !== undefined) return [];
  return [{ file: path, line: 1, message: 'no role fits this file: give it one in scripts/checks/import-rules.ts' }];
}

function roleOf(path: string, roles: Role[]): Role | undefined {
  return roles.find(({ files }) => fitsAny(path, files));
}

function roleFaults({ from, target, typeOnly, line }: Edge, roles: Role[]): Fault[] {
  const role = roleOf(from, roles);
  if (role === undefined) return [];
  const allowed = typeOnly ? [...role.may, ...(role.mayTypes ?? [])] : role.may;
  const targetRole = /^(node|npm):/.test(target) ? undefined : roleOf(target, roles);
  if (fitsAny(target, allowed) || (targetRole && allowed.includes(`role:${targetRole.name}`))) return [];
  const what = targetRole ? `${target} (${targetRole.name})` : target;
  return [{ file: from, line, message: `${role.name} may not import ${what}: ${role.reason}` }];
}

function restrictionFaults({ from, target, line }: Edge, restrictions: Restriction[]): Fault[] {
  return restrictions
    .filter((restriction) => fitsAny(target, restriction.target) && !fitsAny(from, restriction.onlyFrom))
    .map(({ reason }) => ({ file: from, line, message: `may not import ${target}: ${reason}` }));
}

function cycleFaults(edges: Edge[]): Fault[] {
  const runtime = edges.filter(({ typeOnly }) => !typeOnly);
  return cycles(runtime.map(({ from, target }) => [from, target])).map((path) => {
    const [first = '', second = first] = path;
    const line = runtime.find(({ from, target }) => from === first && target === second)?.line ?? 1;
    return { file: first, line, message: `imports itself in a circle: ${[...path, first].join(' → ')}` };
  });
}

function fitsAny(path: string, patterns: string[]): boolean {
  return patterns.some((pattern) => matcher(pattern).test(path));
}

const matchers = new Map<string, RegExp>();

function matcher(pattern: string): RegExp {
  const known = matchers.get(pattern);
  if (known) return known;
  const made = new RegExp(
    `^${pattern
      // A pattern for everything in the repository does not speak of packages.
      .replace(/^\*\*$/, '(?!node:|npm:)**')
      .replace(/[.$+]/g, '\\$&')
      .replace(/\{([^}]*)\}/g, (_, list: string) => `(?:${list.replaceAll(',', '|')})`)
      .replace(/\*\*\/|\*\*|\*/g, (star) => (star === '**/' ? '(?:.*/)?' : star === '**' ? '.*' : '[^/]*'))}$`,
  );
  matchers.set(pattern, made);
  return made;
}
