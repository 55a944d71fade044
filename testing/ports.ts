import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port that is free now, for a program that is to be reached there again after a restart. It lies below those the system
 * hands out by itself: nobody who does not ask for it gets it while the program is down.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
