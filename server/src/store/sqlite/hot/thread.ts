/**
 * The thread of the hot paths. It serves every store that this process opens, by lines of their own. It has no event loop:
 * it looks for calls, carries them out and sleeps until the bell rings, so that between a call and its commit there is
 * nothing but the work. Hence everything here is synchronous.
 */
import { receiveMessageOnPort, workerData } from 'node:worker_threads';
import { OPENED, type Opening, type OpeningAnswer, RUNG, type ThreadSetup } from './hot-thread.ts';
import { openServing, type Serving } from './serving.ts';

const { bell: bellMemory, openings } = workerData as ThreadSetup;
const bell = new Int32Array(bellMemory);
const stores = new Set<Serving>();
let opened = 0;

function takeOpenings(): void {
  for (let next = receiveMessageOnPort(openings); next !== undefined; next = receiveMessageOnPort(openings)) {
    const opening = next.message as Opening;
    const tell = (answer: OpeningAnswer): void => opening.answer.postMessage(answer);
    try {
      stores.add(openServing(opening));
      tell({});
    } catch (error) {
      const { message, errcode } = error as Error & { errcode?: number };
      tell({ failure: { message, ...(errcode !== undefined && { errcode }) } });
    }
  }
}

for (;;) {
  const rung = Atomics.load(bell, RUNG);
  if (Atomics.load(bell, OPENED) !== opened) {
    opened = Atomics.load(bell, OPENED);
    takeOpenings();
  }
  let busy = false;
  for (const store of stores) {
    const state = store.serve();
    if (state === 'closed') stores.delete(store);
    else if (state === 'busy') busy = true;
  }
  if (!busy) Atomics.wait(bell, RUNG, rung);
}
