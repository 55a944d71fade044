import assert from 'node:assert/strict';
import { it } from 'node:test';
import { rawExchange, statusesIn } from '../raw.ts';
import type { World } from '../world.ts';

export function connections(world: World): void {
  const { client } = world;

  /** Sends to the first node, until it closes. */
  function exchange(...lines: string[]): Promise<string> {
    const [base = ''] = client.bases;
    return rawExchange(base, lines.join('\r\n'), () => false);
  }

  /** The line and the Host of a request to the root. */
  const to = (method: string, version = '1.1'): string[] => {
    const { host, pathname } = new URL(`${client.bases[0]}/`);
    return [`${method} ${pathname} HTTP/${version}`, `Host: ${host}`];
  };
  const CLOSE = ['Connection: close', '', ''];

  it('G6 several requests on one connection are answered in order', async () => {
    const received = await exchange(
      ...to('GET'),
      '',
      ...to('PATCH'),
      '',
      ...to('OPTIONS'),
      '',
      ...to('HEAD'),
      ...CLOSE,
    );
    assert.deepEqual(statusesIn(received), [200, 405, 204, 200]);
  });

  it('G6 the body of a refused request is not taken for the next request', async () => {
    const hidden = [...to('DELETE'), '', ''].join('\r\n');
    const refused = [...to('PATCH'), `Content-Length: ${hidden.length}`, '', hidden].join('\r\n');
    const received = await exchange(refused + [...to('GET'), ...CLOSE].join('\r\n'));
    const statuses = statusesIn(received);
    assert.ok(statuses.length === 1 || (statuses.length === 2 && statuses[1] === 200), statuses.join());
    assert.equal(statuses[0], 405);
  });

  it('G6 400 for what is not HTTP, as a problem', async () => {
    const received = await exchange('what is this', '', '');
    assert.deepEqual(statusesIn(received), [400]);
    assert.match(received, /application\/problem\+json/);
    assert.match(received, /^x-request-id: /im);
  });

  it('G6 400 for a request whose length is told twice', async () => {
    const [line, host] = to('POST');
    const body = ['', '0', '', ''];
    const both = await exchange(`${line}`, `${host}`, 'Content-Length: 3', 'Transfer-Encoding: chunked', ...body);
    assert.deepEqual(statusesIn(both), [400]);
    const two = await exchange(`${line}`, `${host}`, 'Content-Length: 3', 'Content-Length: 5', '', 'abcde');
    assert.deepEqual(statusesIn(two), [400]);
  });

  it('G3 a request without a Host is 400', async () => {
    const [line] = to('GET');
    assert.deepEqual(statusesIn(await exchange(`${line}`, ...CLOSE)), [400]);
  });

  it('D 100-continue: a body that is too large is refused before it is sent', async () => {
    const queue = await world.queue();
    const [base = ''] = client.bases;
    const { host, pathname } = new URL(`${base}${queue.address}`);
    const head = [
      `POST ${pathname} HTTP/1.1`,
      `Host: ${host}`,
      'Expect: 100-continue',
      'Content-Length: 20000000',
      '',
      '',
    ];
    const received = await rawExchange(base, head.join('\r\n'), (text) => statusesIn(text).length > 0);
    assert.deepEqual(statusesIn(received), [413]);
  });

  it('D 100-continue: a body that fits is asked for', async () => {
    const queue = await world.queue();
    const [base = ''] = client.bases;
    const { host, pathname } = new URL(`${base}${queue.address}`);
    const head = [`POST ${pathname} HTTP/1.1`, `Host: ${host}`, 'Expect: 100-continue', 'Content-Length: 5', '', ''];
    const received = await rawExchange(base, head.join('\r\n'), (text) => statusesIn(text).length > 0);
    assert.deepEqual(statusesIn(received), [100]);
  });
}
