import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { openConnection } from './connection.ts';
import { pathOfLink, prepare } from './following.ts';

const step = { method: 'POST', to: { rel: 'next', query: '?a=b' }, bodyBytes: 3, status: 200, messages: 1 } as const;
const headWith = (path: string): string =>
  `HTTP/1.1 200 OK\r\nLink: <http://h:1/first>; rel="first", <http://h:1${path}>; rel="next"\r\nContent-Length: 0`;
const request = (path: string): string =>
  `POST ${path}?a=b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n\r\nxxx`;

test('every request goes where the last answer said, whether paths grow, shrink or stay as long as they were', () => {
  const { requestAfter } = prepare(step);
  for (const path of ['/a/1', '/a/2', '/a/10', '/a/11', '/b', '/a/1']) {
    assert.equal(requestAfter(headWith(path)).toString(), request(path));
  }
});

test('each client has a request of its own', () => {
  const [one, another] = [prepare(step), prepare(step)];
  const first = one.requestAfter(headWith('/a/1'));
  another.requestAfter(headWith('/a/2'));
  assert.equal(first.toString(), request('/a/1'));
});

test('an answer without the link is an error', () => {
  assert.equal(pathOfLink(headWith('/a/1'), 'first'), '/first');
  assert.throws(() => prepare(step).requestAfter('HTTP/1.1 200 OK'), /no link "next"/);
});

test('an answer is complete when all of its content has come, however its length is written', async () => {
  const server = createServer((request, response) => {
    const name = request.url === '/usual' ? 'Content-Length' : 'CONTENT-LENGTH';
    response.writeHead(200, [name, '5']).write('12');
    setImmediate(() => response.end('345'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const connection = await openConnection((server.address() as AddressInfo).port);
  try {
    // A second request on the same connection would be taken for the rest of the first answer's content otherwise.
    for (const path of ['/usual', '/unusual', '/usual']) {
      const answered = new Promise<number>((resolve, reject) => {
        connection.onAnswer = resolve;
        connection.onLost = reject;
      });
      connection.send(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`));
      assert.equal(await answered, 200);
    }
  } finally {
    connection.close();
    server.close();
  }
});
