/** The thread of the hot paths. It serves every store that this process opens, each by a port of its own. */
import { type MessagePort, parentPort } from 'node:worker_threads';
import { serveStore } from './serving.ts';
import type { HotSetup } from './wire.ts';

export interface Opening {
  readonly setup: HotSetup;
  readonly port: MessagePort;
}

parentPort?.on('message', ({ setup, port }: Opening) => serveStore(setup, port));
