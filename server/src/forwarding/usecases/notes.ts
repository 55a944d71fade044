/** Gathers the notes of all pipelines: what comes in while a write is under way goes out with the next one, together. */
import type { Store } from '../../store/store.ts';
import { type Note, writeNotes } from '../queries/serving.ts';
import { Interrupted, type Runner, takeNote } from './runner.ts';

const MOST_TOGETHER = 128;

export interface Notes {
  /** Resolves when it is durable. False: the subscriber is not this node's any more, or was set going anew. */
  write(note: Note): Promise<boolean>;
}

interface Waiting {
  readonly note: Note;
  readonly resolve: (written: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export function createNotes(store: Store, node: { readonly id: string }): Notes {
  let waiting: Waiting[] = [];
  let writing = false;

  async function flush(): Promise<void> {
    writing = true;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MOST_TOGETHER);
      waiting = waiting.slice(MOST_TOGETHER);
      const notes = batch.map(({ note }) => note);
      const owner = node.id;
      try {
        const written = await store.transaction((tx) => writeNotes(tx, owner, notes));
        for (const { note, resolve } of batch) resolve(written.has(note.id));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    writing = false;
  }

  return {
    write: (note) =>
      new Promise((resolve, reject) => {
        waiting.push({ note, resolve, reject });
        // Whatever else this turn has to note goes along.
        if (!writing) {
          writing = true;
          setImmediate(flush);
        }
      }),
  };
}

/** Notes where a runner stands now. */
export async function noteRunner(notes: Notes, runner: Runner): Promise<void> {
  await runner.noting;
  if (!(await notes.write(takeNote(runner)))) throw new Interrupted('the subscriber was changed');
}
