import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../../../testing/folders.ts';
import { addressOf, sessionOptions } from './address.ts';

const NOTHING = {};

describe('the address of a database', () => {
  it('is read from its URL', () => {
    assert.deepEqual(addressOf('postgres://me:secret@db.example:6543/things', NOTHING), {
      hosts: [{ host: 'db.example', port: 6543 }],
      user: 'me',
      password: 'secret',
      database: 'things',
      encryption: 'none',
      certificates: {},
      direct: false,
      writable: false,
      parameters: {},
      options: '',
    });
  });

  it('may have any characters, percent-encoded', () => {
    const { user, password, database } = addressOf('postgresql://a%40b:p%2F%3A%20%25%40@h/my%20db', NOTHING);
    assert.deepEqual([user, password, database], ['a@b', 'p/: %@', 'my db']);
  });

  it('tells of a percent sign that begins no character', () => {
    assert.throws(() => addressOf('postgres://u:%zz@h/d', NOTHING), /write %25/);
    assert.throws(() => addressOf('postgres://u:p@h/100%', NOTHING), /write %25/);
  });

  it('takes from the environment what the URL leaves out', () => {
    const env = {
      PGHOST: '/run/postgresql',
      PGPORT: '7777',
      PGUSER: 'somebody',
      PGPASSWORD: 'hidden',
      PGDATABASE: 'other',
      PGSSL: 'require',
    };
    const { hosts, user, password, database, encryption } = addressOf('postgres://', env);
    assert.deepEqual(hosts, [{ host: '/run/postgresql', port: 7777 }]);
    assert.deepEqual([user, password, database, encryption], ['somebody', 'hidden', 'other', 'unverified']);
    const full = addressOf('postgres://me:secret@h:1/d?sslmode=disable', env);
    assert.deepEqual(full.hosts, [{ host: 'h', port: 1 }]);
    assert.deepEqual([full.user, full.password, full.database, full.encryption], ['me', 'secret', 'd', 'none']);
  });

  it('has a user, a database and a server when nobody names them', () => {
    const { hosts, user, password, database } = addressOf('postgres://', NOTHING);
    assert.deepEqual(hosts, [{ host: 'localhost', port: 5432 }]);
    assert.ok(user !== '' && database === user && password === '');
  });

  it('may name several hosts, a folder of sockets or a number', () => {
    const hosts = (url: string) => addressOf(url, NOTHING).hosts.map(({ host, port }) => `${host} ${port}`);
    assert.deepEqual(hosts('postgres://u:p@one,two:6000/d'), ['one 5432', 'two 6000']);
    assert.deepEqual(hosts('postgres://u:p@one:6001,two:6000/d'), ['one 6001', 'two 6000']);
    assert.deepEqual(hosts('postgres://u:p@[::1]:6000/d'), ['::1 6000']);
    assert.deepEqual(hosts('postgres:///d?host=::1'), ['::1 5432']);
    assert.deepEqual(hosts('postgres:///d?host=/var/run/postgresql'), ['/var/run/postgresql 5432']);
    assert.deepEqual(hosts('postgres://u:p@%2Fvar%2Frun:6000/d'), ['/var/run 6000']);
  });

  const MODES: Record<string, string> = {
    '': 'none',
    '?sslmode=disable': 'none',
    '?ssl=false': 'none',
    '?sslmode=prefer': 'preferred',
    '?sslmode=allow': 'unverified',
    '?sslmode=require': 'unverified',
    '?sslmode=verify-ca': 'verified',
    '?sslmode=verify-full': 'verified',
    '?ssl=true': 'verified',
    '?sslmode=requier': 'verified',
    '?sslmode=toString': 'verified',
    '?sslmode=require&sslrootcert=system': 'verified',
  };
  for (const [query, encryption] of Object.entries(MODES)) {
    it(`with "${query}" asks for encryption: ${encryption}`, () => {
      const address = addressOf(`postgres://u:p@h/d${query}`, NOTHING);
      assert.equal(address.encryption, encryption);
      assert.deepEqual(address.parameters, {});
    });
  }

  it('may name an authority and a certificate, by their files', () => {
    const [root, cert, key] = ['root', 'cert', 'key'].map((name) => {
      const file = join(temporaryFolder(), name);
      writeFileSync(file, `the ${name}`);
      return file;
    });
    const own = `sslcert=${cert}&sslkey=${key}`;
    const inUrl = addressOf(`postgres://u:p@h/d?sslmode=verify-full&sslrootcert=${root}&${own}`, NOTHING);
    assert.deepEqual(inUrl.certificates, { ca: 'the root', cert: 'the cert', key: 'the key' });
    assert.deepEqual([inUrl.encryption, inUrl.parameters], ['verified', {}]);
    const env = { PGSSLMODE: 'require', PGSSLROOTCERT: root, PGSSLCERT: cert, PGSSLKEY: key };
    const inEnvironment = addressOf('postgres://u:p@h/d', env);
    assert.deepEqual(inEnvironment.certificates, inUrl.certificates);
    assert.equal(inEnvironment.encryption, 'trusted');
    assert.deepEqual(addressOf('postgres://u:p@h/d', { PGSSLROOTCERT: '/nowhere' }).certificates, {});
    assert.equal(addressOf(`postgres://h/d?sslrootcert=${root}`, NOTHING).encryption, 'verified');
    assert.equal(addressOf(`postgres://h/d?sslmode=verify-ca&sslrootcert=${root}`, NOTHING).encryption, 'trusted');
    assert.throws(
      () => addressOf('postgres://h/d?sslmode=verify-ca&sslrootcert=/nowhere', NOTHING),
      /sslrootcert.*nowhere/,
    );
    assert.throws(
      () => addressOf(`postgres://h/d?sslmode=require&sslcert=${cert}`, NOTHING),
      /both sslcert and sslkey/,
    );
  });

  it('may have all its parts in the query', () => {
    const { hosts, user, password, database } = addressOf(
      'postgres://?host=h&port=6000&user=me&password=p%26q&dbname=things',
      NOTHING,
    );
    assert.deepEqual([hosts, user, password, database], [[{ host: 'h', port: 6000 }], 'me', 'p&q', 'things']);
  });

  for (const name of [
    'channel_binding',
    'sslcrl',
    'passfile',
    'require_auth',
    'ssl_min_protocol_version',
    'gssencmode',
  ]) {
    it(`does not pass over ${name}, which it does not know`, () => {
      assert.throws(() => addressOf(`postgres://u:p@h/d?${name}=require`, NOTHING), new RegExp(`has ${name}, which`));
    });
  }

  it('may set what holds for the session', () => {
    const query = '?search_path=a,%20b&application_name=mine&options=-c%20geqo%3Doff&target_session_attrs=read-write';
    const { parameters, options, writable } = addressOf(`postgres://u:p@h/d${query}`, NOTHING);
    assert.deepEqual(parameters, { search_path: 'a, b', application_name: 'mine' });
    assert.equal(writable, true);
    assert.equal(
      sessionOptions({ jit: 'off', search_path: 'a, \\b' }, options),
      String.raw`-c jit=off -c search_path=a,\ \\b -c geqo=off`,
    );
  });

  it('is refused when it is none, without telling the password', () => {
    assert.throws(
      () => addressOf('postgres://u:secret@h:port/d', NOTHING),
      (error: Error) => !error.message.includes('secret'),
    );
  });
});
