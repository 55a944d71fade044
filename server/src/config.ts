/**
 * Every setting of the service, in one table: its flag, its variable, its default and what it is for. `--help`, the
 * readers of the command line and of the environment, and the type all come from it.
 */
import { isIP } from 'node:net';
import { parseArgs } from 'node:util';
import { cidr, type Kind } from './kinds.ts';
import { nearestName } from './slips.ts';

interface Setting<T> {
  readonly default: T;
  readonly read: (text: string) => T;
  /** What a value looks like, for `--help`. */
  readonly value: string;
  readonly help: string;
}

export class ConfigError extends Error {}

const text = (fallback: string, value: string, help: string): Setting<string> => ({
  default: fallback,
  read: (given) => given,
  value,
  help,
});

const optional = (value: string, help: string, check: (given: string) => string): Setting<string | undefined> => ({
  default: undefined,
  read: check,
  value,
  help,
});

function number(
  fallback: number,
  help: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER, whole = true } = {},
): Setting<number> {
  return {
    default: fallback,
    value: whole ? 'N' : 'SECONDS',
    help,
    read(given) {
      const found = Number(given);
      if (!/^-?\d+(\.\d+)?$/.test(given) || (whole && !Number.isInteger(found)) || found < min || found > max) {
        throw new ConfigError(
          `must be a ${whole ? 'whole ' : ''}number from ${min}${max < Number.MAX_SAFE_INTEGER ? ` to ${max}` : ''}, not "${given}"`,
        );
      }
      return found;
    },
  };
}

const seconds = (fallback: number, help: string, min = 0): Setting<number> =>
  number(fallback, help, { whole: false, min });

const flag = (fallback: boolean, help: string): Setting<boolean> => ({
  default: fallback,
  value: 'true|false',
  help,
  read(given) {
    if (given === 'true' || given === '1') return true;
    if (given === 'false' || given === '0') return false;
    throw new ConfigError(`must be true or false, not "${given}"`);
  },
});

/** Values with commas between them, each of one kind. */
const list = <T>(kind: Pick<Kind<T>, 'read' | 'expected'>, value: string, help: string): Setting<readonly T[]> => ({
  default: [],
  value,
  help,
  read: (given) =>
    given
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map((part) => {
        const found = kind.read(part);
        if (found === undefined) throw new ConfigError(`must be a list of ${kind.expected}, not "${part}"`);
        return found;
      }),
});

const address = {
  read: (text: string) => (isIP(text) === 0 ? undefined : text),
  expected: 'IP addresses',
};

const origin = {
  read: (text: string) =>
    text === '*' || (URL.canParse(text) && new URL(text).origin === text.toLowerCase()) ? text : undefined,
  expected: 'web origins such as https://example.org',
};

const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'];

function httpUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new ConfigError(`must be an http or https URL without query, not "${given}"`);
  }
  return url.href.replace(/\/$/, '');
}

function operatorUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url !== undefined && ['http:', 'https:'].includes(url.protocol)) return url.href;
  throw new ConfigError(`must be an http or https URL, not "${given}"`);
}

function databaseUrl(given: string): string {
  // A list of hosts with ports is no URL to the runtime: the rest is for the store to read.
  if (!/^postgres(ql)?:\/\//.test(given)) {
    throw new ConfigError('must be a postgres:// URL; leave it out to use the embedded store in the data folder');
  }
  return given;
}

const MIB = 1024 * 1024;

export const settings = {
  host: text('127.0.0.1', 'HOST', 'address to listen on'),
  port: number(8080, 'port to listen on; 0 takes a free one', { max: 65535 }),
  data: text('./data', 'DIR', 'folder of the embedded store'),
  database: optional('URL', 'a postgres:// URL: use PostgreSQL instead of the embedded store', databaseUrl),
  'base-url': optional('URL', 'address under which clients see the service, instead of the Host they sent', httpUrl),
  'log-level': {
    ...text('info', LOG_LEVELS.join('|'), 'how much is logged on stderr'),
    read(given: string) {
      if (!LOG_LEVELS.includes(given)) throw new ConfigError(`must be one of ${LOG_LEVELS.join(', ')}, not "${given}"`);
      return given;
    },
  },
  'trusted-proxies': list(
    address,
    'IP,…',
    'addresses of proxies whose Forwarded and X-Forwarded-* fields are believed',
  ),
  'cors-origins': list(origin, 'ORIGIN,…', 'web origins that may call the service from a browser; * for all'),
  'outbound-allow': list(
    cidr,
    'CIDR,…',
    'addresses that are not public but may be called; a service bound to loopback alone may call loopback',
  ),
  'auto-create': flag(true, 'posting to an unknown destination creates it'),
  'max-body': number(10 * MIB, 'largest body in bytes', { min: 1 }),
  'max-headers': number(16 * 1024, 'largest header section in bytes', { min: 1024, max: MIB }),
  'max-batch': number(1000, 'most messages in a batch or an answer', { min: 1, max: 10_000 }),
  'max-wait': seconds(60, 'longest wait of a long-polling client'),
  'max-waiting': number(50_000, 'most clients waiting at once', { min: 1 }),
  'max-buffered': number(256 * MIB, 'most bytes of request bodies held in memory at once', { min: MIB }),
  'remember-ids': seconds(86_400, 'how long client-chosen message ids are remembered after the message left', 0),
  'max-timeout': seconds(3600, 'longest timeout of a transaction', 1),
  'keep-transactions': seconds(86_400, 'how long finished transactions are kept, and then remembered as gone'),
  'once-lifetime': seconds(604_800, 'how long a create-next link can be used, and is remembered after its use', 1),
  'forward-patience': seconds(259_200, 'how long a message is tried that a subscriber cannot take', 0),
  'max-subscribers': number(1000, 'most subscribers of a destination', { min: 1 }),
  'operator-url': optional('URL', 'gets every operator notice as a POST', operatorUrl),
  'disk-reserve': number(64 * MIB, 'posts are refused while less is free on the disk of the embedded store'),
} as const;

type Value<S> = S extends Setting<infer T> ? T : never;

/** The settings by their names. */
export type Options = { readonly [Name in keyof typeof settings]: Value<(typeof settings)[Name]> };

const names = Object.keys(settings) as (keyof Options)[];
const table = settings as Readonly<Record<string, Setting<unknown>>>;

export const variableOf = (name: string): string => `WAYPOST_${name.toUpperCase().replaceAll('-', '_')}`;

export const defaults: Options = Object.fromEntries(
  Object.entries(table).map(([name, setting]) => [name, setting.default]),
) as Options;

/** Reads flags, then variables, then defaults. Throws a ConfigError that says what to do. */
export function readOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Options {
  const flags = readFlags(args);
  const options: Record<string, unknown> = {};
  for (const name of names) {
    const setting = table[name] as Setting<unknown>;
    const fromFlag = flags[name];
    const given = fromFlag ?? environment[variableOf(name)];
    const source = fromFlag === undefined ? variableOf(name) : `--${name}`;
    try {
      options[name] = given === undefined || given === '' ? setting.default : setting.read(given);
    } catch (error) {
      if (error instanceof ConfigError) throw new ConfigError(`${source} ${error.message}`);
      throw error;
    }
  }
  return options as unknown as Options;
}

function readFlags(args: readonly string[]): Record<string, string | undefined> {
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false }).values as Record<string, string>;
  } catch (error) {
    const { message } = error as Error;
    const flag = /'(--?[^'\s=<]+)/.exec(message)?.[1];
    const name = flag?.replace(/^-+/, '') ?? '';
    if (flag === undefined || name in table)
      throw new ConfigError(`${message.replaceAll('\n', ' ').replace(/\.?$/, '.')} See --help.`);
    const near = nearestName(name, names);
    throw new ConfigError(`unknown flag ${flag}.${near === undefined ? '' : ` Did you mean --${near}?`} See --help.`);
  }
}

export function helpText(): string {
  const rows = names.map((name) => {
    const setting = table[name] as Setting<unknown>;
    const shown = Array.isArray(setting.default) ? setting.default.join(',') : setting.default;
    const fallback = shown === undefined || shown === '' ? '' : ` (default ${shown})`;
    return [`  --${name} ${setting.value}`, `${setting.help}${fallback}`] as const;
  });
  const width = Math.min(44, Math.max(...rows.map(([left]) => left.length)));
  const lines = rows.map(([left, right]) =>
    left.length > width ? `${left}\n${' '.repeat(width + 2)}${right}` : `${left.padEnd(width + 2)}${right}`,
  );
  return [
    'Usage: waypost serve [flags]',
    '',
    'Starts the service. Each flag can also be given as a variable: --base-url is WAYPOST_BASE_URL.',
    '',
    ...lines,
    '',
    'Documentation: README.md and docs/',
    '',
  ].join('\n');
}
