/**
 * A target of forwarding that only counts. `/once` gives create-next links, `/hang` never answers, anything else takes
 * messages. Told how many to expect, it says in how many milliseconds they came.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let count = 0;
let expected = Number.POSITIVE_INFINITY;
let started = 0;
let issued = 0;

const server = createServer((request, response) => {
  const { url = '' } = request;
  if (url.startsWith('/hang')) return;
  request.resume();
  request.once('end', () => {
    if (url.startsWith('/once') || url.startsWith('/next')) {
      response.writeHead(200, ['Link', `</next/${++issued}>; rel="create-next"`, 'Content-Length', '0']);
    } else response.writeHead(204);
    response.end();
    if (url.startsWith('/once')) return;
    count += 1;
    if (count === expected) process.send?.({ took: performance.now() - started });
  });
});

process.on('message', (message: { expect: number }) => {
  count = 0;
  expected = message.expect;
  started = performance.now();
  process.send?.({ ready: true });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
// It ends with whoever started it.
process.once('disconnect', () => process.exit());
