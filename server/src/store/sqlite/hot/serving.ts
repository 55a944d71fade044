/** The hot paths of one store, on their thread: takes calls, carries them out in groups and writes their outcomes. */
import type { DatabaseSync } from 'node:sqlite';
import { passiveCheckpoint } from '../checkpoint.ts';
import { openDatabase } from '../database.ts';
import { createDiskReserve } from '../disk.ts';
import { createRoomKeeping } from '../room.ts';
import { type BlockingTurn, createBlockingTurn } from '../turn.ts';
import { createHotGroup } from './hot-group.ts';
import type { Opening } from './hot-thread.ts';
import { createIntake } from './intake.ts';
import { createLineReader, createLineWriter } from './line.ts';
import { createOutcomeWriter } from './outcomes.ts';
import { createVolatileRoom } from './volatile-room.ts';

/**
 * The hot paths come back to the same few pages. When SQLite has moved pages around in a commit it walks over its whole
 * cache (it numbers one of them beyond the end of the database for a moment), so that a large cache costs more than it saves.
 */
const CACHES = { durable: 4 * 1024, volatile: 2 * 1024 };

export interface Serving {
  /** Carries out a group of what was called. `busy`: it did something, and there may be more. */
  serve(): 'busy' | 'idle' | 'closed';
}

/** Opens the database. */
export function openServing(opening: Opening): Serving {
  const { place, turnMemory } = opening.setup;
  const turn = createBlockingTurn(turnMemory);
  // In a turn: others may be at the database, and opening it looks at it.
  return inTurn(turn, () => {
    const db = openDatabase(place, CACHES);
    try {
      return serveFrom(db, turn, opening);
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

function inTurn<T>(turn: BlockingTurn, work: () => T): T {
  turn.take();
  try {
    return work();
  } finally {
    turn.give();
  }
}

function serveFrom(db: DatabaseSync, turn: BlockingTurn, { setup, calls, outcomes, mail }: Opening): Serving {
  const volatileRoom = createVolatileRoom(db);
  const room = createRoomKeeping(createDiskReserve(setup.folder, setup.reserveBytes), passiveCheckpoint(db));
  const called = createLineReader(calls, mail);
  const answers = createLineWriter(outcomes, mail, true);
  const writer = createOutcomeWriter(answers);
  const intake = createIntake(db, called, answers, writer);
  const written = { jobs: 0, bytes: 0 };
  const runGroup = createHotGroup(db, {
    turn,
    refuseGrowth() {
      if (!turn.isUndisturbed()) intake.disturbed();
      volatileRoom.look();
      return room.refuseGrowth();
    },
    full: room.full,
    undone: intake.disturbed,
    committed(jobs, bytes) {
      written.jobs += jobs;
      written.bytes += bytes;
      volatileRoom.wrote(bytes);
    },
  });

  function tell(): void {
    answers.publish();
    answers.wake();
  }

  return {
    serve() {
      const jobs = intake.take();
      if (jobs.length > 0) {
        runGroup(jobs);
        // Now, so that the caller finds room when it hears of the outcomes.
        called.release();
        intake.answer();
        writer.report({ ...written, hasVolatileRoom: volatileRoom.hasRoom });
        written.jobs = 0;
        written.bytes = 0;
        tell();
        return 'busy';
      }
      // Claims may have been taken off the line and have to wait.
      called.release();
      const closing = intake.closing();
      if (closing === undefined) return 'idle';
      inTurn(turn, () => db.close());
      writer.closed(closing);
      tell();
      return 'closed';
    },
  };
}
