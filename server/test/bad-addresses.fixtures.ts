/** Requests whose address, method, query or single field is wrong. */
import { type BadRequest, sent } from './bad-requests.fixtures.ts';

const names: BadRequest[] = [
  ['a lone percent sign', '%', 'bad-request'],
  ['a percent sign with one digit', '%4', 'bad-request'],
  ['a percent sign with letters', '%zz', 'bad-request'],
  ['half a letter', '%C3', 'bad-request'],
  ['a byte that is no UTF-8', '%FF', 'bad-request'],
  ['an overlong slash', '%C0%AF', 'bad-request'],
  ['half of a surrogate pair', '%ED%A0%80', 'bad-request'],
  ['an encoded NUL', 'a%00b', 'bad-name'],
  ['an encoded line break', 'a%0D%0AX-Injected:%201', 'bad-name'],
  ['an encoded slash', 'a%2Fb', 'bad-name'],
  ['an encoded backslash', 'a%5Cb', 'bad-name'],
  ['a space', 'a%20b', 'bad-name'],
  ['a plus', 'a+b', 'bad-name'],
  ['a letter beyond ASCII', '%C3%A9', 'bad-name'],
  ['an encoded percent sign', 'a%2500', 'bad-name'],
  ['a quote', "a'b", 'bad-name'],
  ['one dot', '.', 'bad-name'],
  ['two dots', '..', 'bad-name'],
  ['encoded dots', '%2e%2E', 'bad-name'],
  ['nothing', '', 'bad-name'],
  ['251 characters', 'a'.repeat(251), 'bad-name'],
  ['5000 characters', 'a'.repeat(5000), 'bad-name'],
].flatMap(([what, name, code]) => {
  const problem = code as 'bad-request' | 'bad-name';
  return [
    sent(`posting to a queue named by ${what}`, `POST /queues/${name}`, { body: 'x' }, 400, problem),
    sent(`looking at a topic named by ${what}`, `GET /topics/${name}`, {}, 400, problem),
    sent(`PUT under an id of ${what}`, `PUT /queues/bad/messages/${name}`, { body: 'x' }, 400, problem),
  ];
});

const addresses: BadRequest[] = [
  sent('an unknown address', 'GET /nowhere', {}, 404, 'not-found'),
  sent('a slash too many', 'GET //queues', {}, 404, 'not-found'),
  sent('a slash at the end', 'GET /queues/good/', {}, 404, 'not-found'),
  sent('slashes in a name', 'POST /queues/a/b', { body: 'x' }, 404, 'not-found'),
  sent('another case', 'GET /QUEUES', {}, 404, 'not-found'),
  sent('an unknown kind of problem', 'GET /problems/__proto__', {}, 404, 'not-found'),
  sent('an unknown queue', 'GET /queues/none', {}, 404, 'unknown-destination'),
  sent('receiving from an unknown queue', 'POST /queues/none/receiving', {}, 404, 'unknown-destination'),
  sent('an unknown message', 'GET /queues/good/messages/none', {}, 404, 'unknown-message'),
  sent('deleting an unknown message', 'DELETE /queues/good/messages/00000000000', {}, 404, 'unknown-message'),
  sent('deleting an unknown queue', 'DELETE /queues/none', {}, 404, 'unknown-destination'),
];

const methods: BadRequest[] = [
  ...['DELETE /', 'PATCH /queues/good', 'TRACE /', 'LINK /queues/good', 'UNLINK /queues', 'PROPFIND /queues/good'],
  ...['PUT /queues', 'DELETE /queues', 'PUT /queues/good/receiving', 'POST /queues/good/messages/x', 'PUT /status'],
  ...['MKCOL /topics/good', 'PUT /topics/good/messages/x', 'SEARCH /queues', 'SUBSCRIBE /topics/good'],
].map((line) => sent(line, line, { body: '' }, 405, 'method-not-allowed'));

const queries: BadRequest[] = [
  ...['delay=-1', 'delay=soon', 'delay=1e3', 'delay=', 'delay=Infinity', 'delay=0x10', 'delay=1,5', 'delay=%zz'],
  ...[
    'delay=99999999999',
    'delay=1&delay=2',
    'ttl=-1',
    'ttl=0',
    'ttl=abc',
    'ttl=',
    'ttl=NaN',
    'ttl=%00',
    'priority=-1',
  ],
  ...['priority=10', 'priority=4.5', 'priority=high', 'priority=', 'priority=1&priority=1', 'persistent=yes'],
  ...['persistent=', 'persistent=TRUE', 'persistent=2', 'persistent=true&persistent=false'],
].flatMap((query) => [
  sent(`a post with ${query}`, `POST /queues/bad?${query}`, { body: 'x' }, 400, 'bad-query'),
  sent(`a PUT with ${query}`, `PUT /queues/bad/messages/x?${query}`, { body: 'x' }, 400, 'bad-query'),
]);

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64url');

const otherQueries: BadRequest[] = [
  ...['max=0', 'max=-1', 'max=all', 'max=1.5', 'max=', 'max=1001', 'max=1&max=2', 'max=99999999999999999999'].map(
    (query) => sent(`receiving with ${query}`, `POST /queues/good/receiving?${query}`, {}, 400, 'bad-query'),
  ),
  ...[
    'per_page=0',
    'per_page=-5',
    'per_page=1001',
    'per_page=1.5',
    'per_page=ten',
    'per_page=',
    'cursor=',
    'cursor=!!!',
  ],
  ...['cursor=YQ&cursor=YQ', `cursor=${base64('c')}`, `cursor=${base64('xname')}`, `cursor=${base64('a\0')}`],
  ...[`cursor=${base64(Buffer.from([97, 0xff]))}`, `cursor=${'A'.repeat(5000)}`],
].map((row) =>
  typeof row === 'string' ? sent(`a list with ${row}`, `GET /queues?${row}`, {}, 400, 'bad-query') : row,
);

const deletion = ['force=maybe', 'force=', 'force=true&force=true'].map((query) =>
  sent(`a deletion with ${query}`, `DELETE /queues/good?${query}`, {}, 400, 'bad-query'),
);

const waits: BadRequest[] = ['-1', 'soon', '', '1e3', 'Infinity', '1s', '1, 2', '0x1', '.', '1.', 'NaN', '1 2'].flatMap(
  (wait) => [
    sent(
      `Accept-Wait: ${wait}`,
      'POST /queues/good/receiving',
      { headers: { 'Accept-Wait': wait } },
      400,
      'bad-header',
    ),
    sent(
      `looking, Accept-Wait: ${wait}`,
      'GET /queues/good/receiving',
      { headers: { 'Accept-Wait': wait } },
      400,
      'bad-header',
    ),
  ],
);

const links: BadRequest[] = [
  ...[
    'nonsense',
    '<',
    '<http://a.example',
    'http://a.example; rel="reply-to"',
    '<a>; rel="reply-to',
    '<a b>; rel=reply-to',
  ],
  ...['<a>; rel="reply-to" b', '<a>; =x', '<a> <b>; rel="x"', '<a>; rel="reply-to", b', '<\xe9>; rel="reply-to"'],
].map((link) => sent(`Link: ${link}`, 'POST /queues/bad', { body: 'x', headers: { Link: link } }, 400, 'bad-header'));

const conditions: BadRequest[] = [
  ...['', 'nonsense', '"unclosed', '""', 'W/"1"', '"1-json"', '\xff', '*, "x"'].flatMap((tag) => [
    sent(`PUT with If-Match: ${tag}`, 'PUT /queues/good', { headers: { 'If-Match': tag } }, 412, 'precondition-failed'),
    sent(
      `DELETE with If-Match: ${tag}`,
      'DELETE /queues/good',
      { headers: { 'If-Match': tag } },
      412,
      'precondition-failed',
    ),
  ]),
  sent('If-Match: * on nothing', 'PUT /queues/none', { headers: { 'If-Match': '*' } }, 412, 'precondition-failed'),
  sent(
    'If-None-Match: * on something',
    'PUT /queues/good',
    { headers: { 'If-None-Match': '*' } },
    412,
    'precondition-failed',
  ),
];

const acceptance: BadRequest[] = [
  sent('nothing acceptable', 'GET /', { headers: { Accept: 'image/png' } }, 406, 'not-acceptable'),
  sent('everything refused', 'GET /queues', { headers: { Accept: '*/*;q=0' } }, 406, 'not-acceptable'),
];

export const badAddresses: BadRequest[] = [
  ...[...names, ...addresses, ...methods, ...queries, ...otherQueries, ...deletion],
  ...[...waits, ...links, ...conditions, ...acceptance],
];
