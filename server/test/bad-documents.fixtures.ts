/** Documents that make or change a destination and are wrong: JSON, XML, forms, settings, media types. */
import { gzipSync } from 'node:zlib';
import type { ProblemCode } from '../src/problems.ts';
import { type BadRequest, sent } from './bad-requests.fixtures.ts';

const JSON_TYPE = 'application/json';
const XML = 'application/xml';
const FORM = 'application/x-www-form-urlencoded';

type Wrong = [what: string, body: string | Buffer, status: 400 | 415 | 422, code: ProblemCode];

/** As a creation, and as the settings of a queue that is there. */
function documents(type: string, rows: Wrong[]): BadRequest[] {
  return rows.flatMap(([what, body, status, code]) => [
    sent(`creating by ${what}`, 'POST /queues', { type, body }, status, code),
    sent(`settings by ${what}`, 'PUT /queues/good', { type, body }, status, code),
  ]);
}

const bad = (what: string, body: string | Buffer): Wrong => [what, body, 400, 'bad-body'];
const foreign = (what: string, body: string | Buffer): Wrong => [what, body, 415, 'unsupported-media-type'];
const wrong = (what: string, body: string | Buffer): Wrong => [what, body, 422, 'invalid'];

const json = documents(JSON_TYPE, [
  bad('half an object', '{"name":'),
  bad('single quotes', "{'name':'x'}"),
  bad('a comma too many', '{"name":"good",}'),
  bad('a comment', '{"name":"good"/* queue */}'),
  bad('two documents', '{"name":"good"}{"name":"good"}'),
  bad('a list', '[{"name":"good"}]'),
  bad('null', 'null'),
  bad('a text', '"good"'),
  bad('a number', '1'),
  bad('spaces only', '   '),
  bad('NaN', '{"name":"good","lease":NaN}'),
  bad('a raw line break in a text', '{"name":"go\nod"}'),
  bad('bytes that are no UTF-8', Buffer.from([...Buffer.from('{"name":"'), 0xff, 0xfe, ...Buffer.from('"}')])),
  bad('UTF-16', Buffer.from('{"name":"good"}', 'utf16le')),
  bad('two marks of byte order', Buffer.from('\ufeff\ufeff{"name":"good"}')),
  bad('lists nested 200 000 deep', '['.repeat(200_000)),
  bad('NUL bytes', Buffer.alloc(100)),
  wrong('settings nested 100 000 deep', `{"name":"good","lease":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
  wrong('a number as name', '{"name":5}'),
  wrong('a list as name', '{"name":["good"]}'),
  wrong('an object as name', '{"name":{"toString":"good"}}'),
  wrong('__proto__', '{"name":"good","__proto__":{"lease":5}}'),
  wrong('a name in __proto__', '{"__proto__":{"name":"good"}}'),
  wrong('constructor', '{"name":"good","constructor":{"prototype":{}}}'),
  wrong('toString', '{"name":"good","toString":"x"}'),
  wrong('an unknown setting', '{"name":"good","leese":5}'),
  wrong('a setting in another case', '{"name":"good","Lease":5}'),
  wrong(
    '20 000 unknown settings',
    JSON.stringify({ name: 'good', ...Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`s${i}`, 1])) }),
  ),
  wrong('a setting named by 500 000 letters', `{"name":"good","${'x'.repeat(500_000)}":1}`),
]);

const settings = documents(
  JSON_TYPE,
  [
    ...['"lease":true', '"lease":[]', '"lease":{}', '"lease":"soon"', '"lease":-1', '"lease":0', '"lease":1e400'],
    ...['"lease":"1e3"', '"lease":" 5"', '"lease":99999999999', '"max-deliveries":0', '"max-deliveries":1.5'],
    ...['"max-deliveries":"many"', '"max-deliveries":1e9', '"dead-letter":".."', '"dead-letter":"a/b"'],
    ...['"dead-letter":["x"]', '"dead-letter":"\\u0000"', '"ttl":-5', '"ttl":0', '"delay":-1', '"delay":"1 h"'],
    ...['"retention":"PT1H"', '"retention":-1', '"max-length":0', '"max-length":-1', '"max-length":1.5'],
    ...['"max-bytes":0', '"max-bytes":"1 MiB"', '"max-bytes":1e300'],
  ].map((setting) => wrong(setting, `{"name":"good",${setting}}`)),
);

const bomb = `<?xml version="1.0"?><!DOCTYPE queue [<!ENTITY a "lol">${Array.from(
  { length: 9 },
  (_, i) => `<!ENTITY ${'abcdefghij'[i + 1]} "${`&${'abcdefghij'[i]};`.repeat(10)}">`,
).join('')}]><queue><name>&j;</name></queue>`;

const xml = documents(XML, [
  bad('half an element', '<queue><name>good'),
  bad('no element', 'good'),
  bad('spaces only', '  \n '),
  bad('two roots', '<queue name="good"/><queue name="good"/>'),
  bad('crossed elements', '<queue><a><b></a></b></queue>'),
  bad('text after the root', '<queue name="good"/>x'),
  bad('an attribute twice', '<queue name="good" name="good"/>'),
  bad('an attribute without quotes', '<queue name=good/>'),
  bad('an undeclared prefix', '<queue xmlns:a="urn:a"><b:name>good</b:name></queue>'),
  bad('an unknown entity', '<queue><name>&good;</name></queue>'),
  bad('an entity bomb', bomb),
  bad(
    'an entity of the file system',
    '<!DOCTYPE q [<!ENTITY x SYSTEM "file:///etc/passwd">]><queue><name>&x;</name></queue>',
  ),
  bad('a DOCTYPE that does nothing', '<!DOCTYPE queue><queue name="good"/>'),
  bad('a parameter entity', '<!DOCTYPE q [<!ENTITY % x SYSTEM "http://127.0.0.1/">%x;]><queue name="good"/>'),
  bad('a character that is none', '<queue><name>&#0;</name></queue>'),
  bad('a control character', '<queue><name>\x01</name></queue>'),
  bad('bytes that are no UTF-8', Buffer.from([...Buffer.from('<queue name="'), 0xc3, 0x28, ...Buffer.from('"/>')])),
  foreign('UTF-16', Buffer.from('\ufeff<queue name="good"/>', 'utf16le')),
  foreign('another encoding', '<?xml version="1.0" encoding="ISO-8859-1"?><queue name="good"/>'),
  bad('elements nested 65 deep', `<queue>${'<a>'.repeat(64)}${'</a>'.repeat(64)}</queue>`),
  bad('elements nested 100 000 deep', '<queue>'.repeat(100_000)),
  bad('a CDATA without end', '<queue><![CDATA[good'),
  bad('a comment without end', '<queue><!-- good'),
  wrong('another root', '<topic name="good"/>'),
  wrong('a root in another case', '<Queue name="good"/>'),
  wrong('a name twice', '<queue><name>good</name><name>good</name></queue>'),
  wrong('a name as attribute and element', '<queue name="good"><name>good</name></queue>'),
  wrong('an element in the name', '<queue><name><b>good</b></name></queue>'),
  wrong('an unknown setting', '<queue name="good"><leese>5</leese></queue>'),
  wrong('an attribute named __proto__', '<queue name="good" __proto__="x"/>'),
  wrong('a setting that is no number', '<queue name="good"><lease>soon</lease></queue>'),
  wrong(
    '40 000 elements',
    `<queue name="good">${Array.from({ length: 40_000 }, (_, i) => `<e${i}/>x`)
      .join('')
      .replaceAll('/>x', '>1</e>')
      .replace(/<e(\d+)>1<\/e>/g, '<e$1>1</e$1>')}</queue>`,
  ),
]);

const manyAttributes = `<queue ${Array.from({ length: 60_000 }, (_, i) => `a${i}="1"`).join(' ')}/>`;
const manyPrefixes = `<queue ${Array.from({ length: 20_000 }, (_, i) => `xmlns:p${i}="urn:${i}"`).join(' ')} name="bad name"/>`;
const xmlMasses: BadRequest[] = [
  sent('60 000 attributes', 'POST /queues', { type: XML, body: manyAttributes }, 422, 'invalid'),
  sent('20 000 namespaces', 'POST /queues', { type: XML, body: manyPrefixes }, 400, 'bad-name'),
];

const forms = documents(FORM, [
  bad('a lone percent sign', 'name=good%'),
  bad('a percent sign with letters', 'name=%zz'),
  bad('bytes that are no UTF-8', 'name=%FF'),
  bad('raw bytes that are no UTF-8', Buffer.from([...Buffer.from('name='), 0xff])),
  bad('2000 fields', 'a=1&'.repeat(2000)),
  wrong('a name twice', 'name=good&name=good'),
  wrong('a setting twice', 'name=good&lease=5&lease=5'),
  wrong('an unknown setting', 'name=good&leese=5'),
  wrong('a mark of byte order', '\ufeffname=good'),
  wrong('__proto__', 'name=good&__proto__=x'),
  wrong('a setting that is no number', 'name=good&lease=soon'),
]);

const creations: BadRequest[] = [
  sent('creating without a body', 'POST /queues', { body: '' }, 422, 'invalid'),
  sent('creating without a name', 'POST /queues', { type: JSON_TYPE, body: '{}' }, 422, 'invalid'),
  sent('creating with an empty name', 'POST /queues', { type: JSON_TYPE, body: '{"name":""}' }, 400, 'bad-name'),
  sent(
    'creating with a NUL in the name',
    'POST /queues',
    { type: JSON_TYPE, body: '{"name":"a\\u0000"}' },
    400,
    'bad-name',
  ),
  sent(
    'creating with a slash in the name',
    'POST /topics',
    { type: JSON_TYPE, body: '{"name":"a/b"}' },
    400,
    'bad-name',
  ),
  sent('creating with dots as name', 'POST /topics', { type: FORM, body: 'name=..' }, 400, 'bad-name'),
  sent('creating with a name of 251', 'POST /topics', { type: FORM, body: `name=${'a'.repeat(251)}` }, 400, 'bad-name'),
  sent('creating what is there', 'POST /queues', { type: FORM, body: 'name=good' }, 409, 'destination-exists'),
  sent('a lease for a topic', 'PUT /topics/good', { type: JSON_TYPE, body: '{"lease":5}' }, 422, 'invalid'),
  sent('a queue as a topic', 'PUT /topics/good', { type: XML, body: '<queue/>' }, 422, 'invalid'),
  sent('another name in the body', 'PUT /queues/good', { type: JSON_TYPE, body: '{"name":"other"}' }, 422, 'invalid'),
];

const types: BadRequest[] = [
  undefined,
  'text/plain',
  'application',
  'json',
  ';',
  '*/*',
  'application/json+zip',
  'multipart/form-data',
]
  .flatMap((type) => [
    sent(
      `creating by ${type ?? 'no type'}`,
      'POST /queues',
      { ...(type && { type }), body: '{"name":"good"}' },
      415,
      'unsupported-media-type',
    ),
    sent(
      `settings by ${type ?? 'no type'}`,
      'PUT /queues/good',
      { ...(type && { type }), body: '{}' },
      415,
      'unsupported-media-type',
    ),
  ])
  .concat(
    sent(
      'gzip',
      'PUT /queues/good',
      { type: JSON_TYPE, body: gzipSync('{}'), headers: { 'Content-Encoding': 'gzip' } },
      415,
      'unsupported-media-type',
    ),
  );

export const badDocuments: BadRequest[] = [
  ...[...json, ...settings, ...xml, ...xmlMasses],
  ...[...forms, ...creations, ...types],
];
