/** A participant of transactions that says yes to everything and keeps nothing: what is measured is the manager. */
import { createServer } from 'node:http';

const server = createServer((incoming, outgoing) => {
  incoming.resume().once('end', () => outgoing.writeHead(204).end());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
// It ends with whoever started it.
process.once('disconnect', () => process.exit());
