/** Query parameters: which ones an operation knows, and reading them. */
import type { Kind } from '../kinds.ts';
import { type FieldError, Problem } from '../problems.ts';

export type QuerySpec = Readonly<Record<string, { readonly kind: Kind<unknown>; readonly help: string }>>;

type KindValue<K> = K extends Kind<infer T> ? T : never;
export type QueryValues<S extends QuerySpec> = { readonly [Name in keyof S]?: KindValue<S[Name]['kind']> };

/** Reads the parameters a handler knows; others are ignored, so that a newer client can talk to an older service. */
export function readQuery<S extends QuerySpec>(query: URLSearchParams, spec: S): QueryValues<S> {
  if (query.size === 0) return {};
  const values: Record<string, unknown> = {};
  const errors: FieldError[] = [];
  for (const name in spec) {
    const given = query.getAll(name);
    const [text] = given;
    if (text === undefined) continue;
    const { kind } = spec[name] as S[string];
    const value = given.length === 1 ? kind.read(text) : undefined;
    if (value === undefined) {
      errors.push({ parameter: name, detail: given.length > 1 ? 'must be given once' : `must be ${kind.expected}` });
    } else values[name] = value;
  }
  if (errors.length > 0) {
    const detail = errors.map((error) => `${error.parameter} ${error.detail}`).join('; ');
    throw new Problem('bad-query', detail, { errors });
  }
  return values as QueryValues<S>;
}
