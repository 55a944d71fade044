import { onEachEngine } from '../engines.ts';
import type { Scenario } from '../scenario.ts';
import { BODY_BYTES, CONNECTIONS, floodInTurns, post, ratioFigure } from '../throughput.ts';

const BATCH = 100;
const BOUNDARY = 'part';

const part = `--${BOUNDARY}\r\nContent-Type: application/octet-stream\r\n\r\n${'x'.repeat(BODY_BYTES)}\r\n`;
const request = {
  method: 'POST',
  path: '/queues/bench/batches',
  headers: { 'Content-Type': `multipart/mixed; boundary=${BOUNDARY}` },
  body: `${part.repeat(BATCH)}--${BOUNDARY}--\r\n`,
};

/**
 * What a client with 100 messages gains by posting them together. Many clients at once share commits in either way, so that
 * what is left to gain for them is the work of the requests; that is shown, too.
 */
export const batchPost: Scenario = {
  name: 'batch-post',
  about: 'messages of 1 KiB in batches of 100, to as many posted one after another by the same client',
  target: { atLeast: 8, text: 'at least 8 times the messages' },
  run: (context) =>
    onEachEngine(context, [], async ({ port }, engine) => {
      const single = post('single posts', [port], '/queues/bench');
      const batches = { ...single, name: 'batches', request, status: 201, messages: BATCH };
      const compare = (connections: number) =>
        floodInTurns(
          context,
          [
            { ...batches, connections },
            { ...single, connections },
          ],
          { whole: true },
        );
      const pair = ['batches', 'single posts'] as const;
      return [
        ratioFigure(await compare(1), `${engine}, one client`, pair),
        { ...ratioFigure(await compare(CONNECTIONS), `${engine}, ${CONNECTIONS} clients`, pair), judged: false },
      ];
    }),
};
