/** The yardstick: Fastify that reads a body and answers 204, and does nothing else. */
import Fastify from 'fastify';

const app = Fastify();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
app.post('/queues/:name', (_request, reply) => {
  reply.code(204).send();
});

await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
process.send?.(typeof address === 'object' ? address?.port : undefined);
// It ends with whoever started it.
process.once('disconnect', () => process.exit());
