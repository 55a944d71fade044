/** The parameters of the statements for posts: their names, types and order. */

/**
 * What a batch asks of once-only links: it has none; each follows the last one of its chain that was used, or else the
 * statement fails (`next`); or each is to be looked at with care (`any`).
 */
export type Links = 'none' | 'next' | 'any';

/**
 * Lists have a value for each message; those of links in `next`, for each link. Where all values of a list are the same, which is usual for those that have an
 * `every…`, that one goes out alone and the list as null: a list costs work here and on the server.
 * The bodies are one value with offsets, since a list of them costs twice as much, and come last: the library writes a
 * parameter behind the one before it, into a buffer that it copies whenever it has to grow.
 */
const TYPES = {
  destinations: 'bigint[]',
  dest: 'bigint[]',
  everyDest: 'bigint',
  contentType: 'text[]',
  everyContentType: 'text',
  headers: 'text[]',
  everyHeaders: 'text',
  rank: 'smallint[]',
  everyRank: 'smallint',
  expires: 'bigint[]',
  delayed: 'bigint[]',
  posted: 'bigint[]',
  id: 'bigint[]',
  start: 'int[]',
  size: 'int[]',
  chain: 'bigint[]',
  link: 'bigint[]',
  chainCount: 'int',
  latest: 'bigint',
  until: 'bigint[]',
  bodies: 'bytea',
} as const;

export type ParameterName = keyof typeof TYPES;

/** Parameters that not every statement has. */
const ONLY_FOR: { readonly [name in ParameterName]?: readonly Links[] } = {
  chain: ['next', 'any'],
  link: ['next', 'any'],
  chainCount: ['any'],
  latest: ['next'],
  until: ['any'],
};

const ALL = Object.keys(TYPES) as ParameterName[];
const namesFor = (links: Links): readonly ParameterName[] =>
  ALL.filter((name) => ONLY_FOR[name]?.includes(links) ?? true);

const NAMES: Readonly<Record<Links, readonly ParameterName[]>> = {
  none: namesFor('none'),
  next: namesFor('next'),
  any: namesFor('any'),
};

/** The names of a statement's parameters, in their order. */
export const parametersOf = (links: Links): readonly ParameterName[] => NAMES[links];

/** How the text of a statement refers to its parameters, `$3::bigint[]` for example. */
export function placeholders(links: Links): Readonly<Record<ParameterName, string>> {
  const places = parametersOf(links).map((name, index) => [name, `$${index + 1}::${TYPES[name]}`]);
  return Object.fromEntries(places) as Record<ParameterName, string>;
}
