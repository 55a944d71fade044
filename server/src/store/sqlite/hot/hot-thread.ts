/** The thread of the hot paths, as the thread that speaks with clients knows it: one for all stores of this process. */
import { once } from 'node:events';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { createRingMemory } from './ring.ts';
import type { HotSetup } from './wire.ts';

/** Room for calls, and for outcomes, that are under way. Memory that was never used is none. */
const CALL_BYTES = 4 * 1024 * 1024;
const OUTCOME_BYTES = 4 * 1024 * 1024;

/** What the thread is told of a store that it shall serve. */
export interface Opening {
  readonly setup: HotSetup;
  readonly calls: SharedArrayBuffer;
  readonly outcomes: SharedArrayBuffer;
  /** For records that are too large for the rings, in both directions. */
  readonly mail: MessagePort;
  /** Where it says that the database is open, or why it cannot be opened. */
  readonly answer: MessagePort;
}

export interface OpeningAnswer {
  readonly failure?: { readonly message: string; readonly errcode?: number };
}

export interface ThreadSetup {
  /** Two counters: of how often there was something to do, by which the thread sleeps, and of the stores to be opened. */
  readonly bell: SharedArrayBuffer;
  readonly openings: MessagePort;
}

/** The lines to one store on the thread. */
export interface HotStore extends Pick<Opening, 'calls' | 'outcomes' | 'mail'> {
  /** Wakes the thread, should it sleep. */
  ring(): void;
  /** While a call waits for its outcome the process stays alive. */
  keepAlive(wanted: boolean): void;
}

export const RUNG = 0;
export const OPENED = 1;

interface HotThread {
  readonly worker: Worker;
  readonly openings: MessagePort;
  readonly bell: Int32Array;
  storesThatWait: number;
}

let thread: HotThread | undefined;

function startThread(): HotThread {
  const bell = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const { port1, port2 } = new MessageChannel();
  const workerData: ThreadSetup = { bell, openings: port2 };
  // Nothing listens to its errors: they end the process, since nobody could be answered any more.
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    name: 'hot paths',
    workerData,
    transferList: [port2],
  });
  worker.unref();
  return { worker, openings: port1, bell: new Int32Array(bell), storesThatWait: 0 };
}

/** Resolves when the thread has opened the database. It is started for the first store. */
export async function openOnHotThread(setup: HotSetup): Promise<HotStore> {
  thread ??= startThread();
  const found = thread;
  const { worker, openings, bell } = found;
  const lines = { calls: createRingMemory(CALL_BYTES), outcomes: createRingMemory(OUTCOME_BYTES) };
  const mail = new MessageChannel();
  const answer = new MessageChannel();
  const opening: Opening = { setup, ...lines, mail: mail.port2, answer: answer.port2 };
  const ring = (): void => {
    Atomics.add(bell, RUNG, 1);
    Atomics.notify(bell, RUNG);
  };
  openings.postMessage(opening, [opening.mail, opening.answer]);
  Atomics.add(bell, OPENED, 1);
  ring();
  const [{ failure }] = (await once(answer.port1, 'message')) as [OpeningAnswer];
  answer.port1.close();
  if (failure !== undefined) {
    mail.port1.close();
    const { message, errcode } = failure;
    throw Object.assign(new Error(message), errcode !== undefined && { errcode });
  }
  return {
    ...lines,
    mail: mail.port1,
    ring,
    keepAlive(wanted) {
      found.storesThatWait += wanted ? 1 : -1;
      if (found.storesThatWait === 1 && wanted) worker.ref();
      else if (found.storesThatWait === 0) worker.unref();
    },
  };
}
