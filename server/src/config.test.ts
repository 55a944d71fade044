import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, defaults, helpText, type Options, readOptions, settings, variableOf } from './config.ts';

/** A value for each setting that differs from its default, as text and as it is read. */
const VALUES: Record<keyof Options, [text: string, read: unknown]> = {
  host: ['0.0.0.0', '0.0.0.0'],
  port: ['0', 0],
  data: ['/srv/waypost', '/srv/waypost'],
  database: ['postgres://user:secret@db.example/waypost', 'postgres://user:secret@db.example/waypost'],
  'base-url': ['https://example.org/messages/', 'https://example.org/messages'],
  'log-level': ['debug', 'debug'],
  'trusted-proxies': ['10.0.0.1, ::1', ['10.0.0.1', '::1']],
  'cors-origins': ['https://a.example,http://localhost:3000', ['https://a.example', 'http://localhost:3000']],
  'outbound-allow': [
    '10.0.0.0/8, ::1',
    [
      { address: '10.0.0.0', prefix: 8, family: 'ipv4' },
      { address: '::1', prefix: 128, family: 'ipv6' },
    ],
  ],
  'auto-create': ['false', false],
  'max-body': ['1', 1],
  'max-headers': ['2048', 2048],
  'max-batch': ['10', 10],
  'max-wait': ['0.5', 0.5],
  'max-waiting': ['1', 1],
  'max-buffered': ['1048576', 1048576],
  'max-timeout': ['60', 60],
  'keep-transactions': ['1', 1],
  'remember-ids': ['0', 0],
  'once-lifetime': ['3600', 3600],
  'forward-patience': ['60', 60],
  'max-subscribers': ['1', 1],
  'operator-url': ['https://example.org/notices?key=1', 'https://example.org/notices?key=1'],
  'disk-reserve': ['0', 0],
};

const names = Object.keys(settings) as (keyof Options)[];

test('each setting has a flag and a variable, and the flag counts', () => {
  for (const name of names) {
    const [text, read] = VALUES[name];
    assert.notDeepEqual(read, defaults[name], `${name} is tried with its default`);
    assert.deepEqual(readOptions([], { [variableOf(name)]: text })[name], read, variableOf(name));
    assert.deepEqual(readOptions([`--${name}`, text], {})[name], read, `--${name}`);
    assert.deepEqual(readOptions([`--${name}=${text}`], { [variableOf(name)]: 'nonsense' })[name], read);
  }
});

test('without anything every setting has its default', () => {
  assert.deepEqual(readOptions([], {}), defaults);
  // Empty variables are how compose files and shells leave one out.
  assert.deepEqual(readOptions([], Object.fromEntries(names.map((name) => [variableOf(name), '']))), defaults);
});

test('the help names each flag with its default', () => {
  const help = helpText();
  for (const name of names) {
    const line = help.split('\n').find((each) => each.includes(`--${name} `)) ?? '';
    const next = help.slice(help.indexOf(line), help.indexOf(line) + 400);
    assert.notEqual(line, '', `--${name} is not in the help`);
    const fallback = defaults[name];
    const none = fallback === undefined || (Array.isArray(fallback) && fallback.length === 0);
    if (!none) assert.ok(next.includes(`(default ${fallback})`), `no default of --${name} in the help`);
  }
});

const WRONG: [args: string[], message: RegExp][] = [
  [['--prot', '1'], /--prot\b.*--port\?/],
  [['--prot=1'], /--prot\b.*--port\?/],
  [['--max-wiat', '1'], /--max-wiat\b.*--max-wait\?/],
  [['--entirely-different', '1'], /unknown flag --entirely-different\. See --help/],
  [['-p', '1'], /unknown flag -p\b/],
  [['something'], /something/],
  [['--port'], /--port/],
  [['--port', '-1'], /--port/],
  [['--port=-1'], /--port must be a whole number from 0 to 65535, not "-1"/],
  [['--port', 'http'], /--port must be/],
  [['--port', '65536'], /--port must be/],
  [['--port', '80.5'], /--port must be/],
  [['--port', '0x50'], /--port must be/],
  [['--port', '1e3'], /--port must be/],
  [['--port', ' '], /--port must be/],
  [['--database', 'mysql://x/y'], /--database must be a postgres:\/\/ URL/],
  [['--database', 'nonsense'], /--database must be/],
  [['--base-url', 'example.org'], /--base-url must be/],
  [['--base-url', 'ftp://example.org'], /--base-url must be/],
  [['--base-url', 'http://example.org/?a=b'], /--base-url must be/],
  [['--log-level', 'loud'], /--log-level must be one of/],
  [['--auto-create', 'maybe'], /--auto-create must be true or false/],
  [['--auto-create', 'TRUE'], /--auto-create must be true or false/],
  [['--max-body', '0'], /--max-body must be/],
  [['--max-body', '10MB'], /--max-body must be/],
  [['--max-headers', '10'], /--max-headers must be/],
  [['--max-batch', '1000000'], /--max-batch must be/],
  [['--max-wait', '-1'], /--max-wait/],
  [['--max-wait', 'Infinity'], /--max-wait must be/],
  [['--disk-reserve=-1'], /--disk-reserve must be/],
  [['--trusted-proxies', 'proxy.example'], /--trusted-proxies must be/],
  [['--trusted-proxies', '10.0.0.0/8'], /--trusted-proxies must be/],
  [['--outbound-allow', 'example.org'], /--outbound-allow must be/],
  [['--outbound-allow', '10.0.0.0/99'], /--outbound-allow must be/],
  [['--cors-origins', 'example.org'], /--cors-origins must be/],
  [['--cors-origins', 'https://example.org/path'], /--cors-origins must be/],
];

test('each wrong value is refused in one line that names the flag', () => {
  for (const [args, message] of WRONG) {
    assert.throws(
      () => readOptions(args, {}),
      (error) => {
        assert.ok(error instanceof ConfigError, `${args.join(' ')}: ${error}`);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      },
      args.join(' '),
    );
  }
});

test('a wrong value of a variable is refused with the name of the variable', () => {
  assert.throws(() => readOptions([], { WAYPOST_PORT: 'http' }), /WAYPOST_PORT must be/);
  assert.throws(() => readOptions([], { WAYPOST_LOG_LEVEL: 'loud' }), /WAYPOST_LOG_LEVEL must be one of/);
});

test('a password is not repeated', () => {
  assert.throws(
    () => readOptions(['--database', 'mysql://user:secret@db.example/x'], {}),
    (error) => !(error as Error).message.includes('secret'),
  );
});
