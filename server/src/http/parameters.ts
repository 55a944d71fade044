/** Query parameters: which ones an operation knows, and reading them. */
import type { Kind } from '../kinds.ts';
import { type FieldError, MOST_FIELD_ERRORS, Problem, shown } from '../problems.ts';
import { bare, slipOf } from '../slips.ts';
import type { Operation } from './operation.ts';

export interface ParameterSpec {
  readonly kind: Kind<unknown>;
  readonly help: string;
  /** What other services call it, in small letters alone: who comes from there is told the name it has here. */
  readonly alsoCalled?: readonly string[];
}

export type QuerySpec = Readonly<Record<string, ParameterSpec>>;

/** The query of a request. Requests with the same one share it, so nobody may change it. */
export type Query = Pick<URLSearchParams, 'get' | 'getAll' | 'has' | 'keys' | 'size'> & {
  /** What was read from it before, by who asked. */
  readonly read: Map<QuerySpec, Readonly<Record<string, unknown>>>;
  /** Who has found no slip in it before. */
  readonly flawless: Set<QuerySpec>;
};

class ParsedQuery extends URLSearchParams implements Query {
  readonly read: Query['read'] = new Map();
  readonly flawless: Query['flawless'] = new Set();
}

const NO_QUERY: Query = new ParsedQuery();
const NO_SPEC: QuerySpec = {};
/** Queries as clients write them: most requests come with one that came before. Bounded: clients choose them. */
const parsed = new Map<string, Query>();
const MAX_PARSED = 1000;
const LONGEST_PARSED = 100;

export function parseQuery(text: string | undefined): Query {
  if (text === undefined) return NO_QUERY;
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const query = new ParsedQuery(text);
  if (text.length > LONGEST_PARSED) return query;
  if (parsed.size === MAX_PARSED) parsed.clear();
  parsed.set(text, query);
  return query;
}

type KindValue<K> = K extends Kind<infer T> ? T : never;
export type QueryValues<S extends QuerySpec> = { readonly [Name in keyof S]?: KindValue<S[Name]['kind']> };

/** Refuses names that can only be meant for something known: what was asked for would otherwise silently not happen. */
export function refuseSlips(query: Query, { query: spec = NO_SPEC, input }: Pick<Operation, 'query' | 'input'>): void {
  if (query.flawless.has(spec)) return;
  const unknown = new Set<string>();
  for (const given of query.keys()) if (!Object.hasOwn(spec, given)) unknown.add(given);
  if (unknown.size === 0) {
    query.flawless.add(spec);
    return;
  }
  const names = Object.keys(spec);
  const errors: FieldError[] = [];
  for (const given of unknown) {
    if (errors.length === MOST_FIELD_ERRORS) break;
    const meant = slipOf(given, names) ?? names.find((name) => spec[name]?.alsoCalled?.includes(bare(given)));
    if (meant !== undefined) errors.push({ parameter: shown(given), detail: `is not known here; ${meant} is` });
    else if (isField(given, input))
      errors.push({ parameter: given, detail: 'belongs into the body, as a form or JSON' });
  }
  if (errors.length === 0) return;
  throw new Problem('bad-query', errors.map(({ parameter, detail }) => `${parameter} ${detail}`).join('; '), {
    errors,
  });
}

const isField = (name: string, input: Operation['input']): boolean =>
  Object.hasOwn((input?.schema.properties as object | undefined) ?? {}, name);

/** Reads the parameters a handler knows; others are ignored, so that a newer client can talk to an older service. */
export function readQuery<S extends QuerySpec>(query: Query, spec: S): QueryValues<S> {
  const known = query.read.get(spec);
  if (known !== undefined) return known as QueryValues<S>;
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
  query.read.set(spec, values);
  return values as QueryValues<S>;
}
