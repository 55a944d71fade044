/**
 * Participants of transactions that say yes to everything and keep nothing. On plain sockets, with just enough HTTP/1.1 for
 * that: all of them live in this one process, and what is measured is the manager, not how fast one process can be 32 services.
 */
import { createServer } from 'node:net';

const YES = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n');
const LENGTH = /\r\ncontent-length: *(\d+)/i;

const server = createServer({ noDelay: true }, (socket) => {
  let received = '';
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    for (;;) {
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const whole = end + 4 + Number(LENGTH.exec(received.slice(0, end))?.[1] ?? 0);
      if (received.length < whole) return;
      received = received.slice(whole);
      socket.write(YES);
    }
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
// It ends with whoever started it.
process.once('disconnect', () => process.exit());
