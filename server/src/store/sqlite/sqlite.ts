/** The embedded engine: one SQLite database in the data folder, for one process. */
import type { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../problems.ts';
import { createIdBlocks } from '../id-blocks.ts';
import { migrate, readSecret, reserveIds } from '../migrate.ts';
import { sqliteMessageTables } from '../migrations/0001-messaging.ts';
import type { Store } from '../store.ts';
import { createWaker } from '../waker.ts';
import { createCheckpointer, passiveCheckpoint } from './checkpoint.ts';
import { createConnection, explain, retrySoon } from './connection.ts';
import { type DatabasePlace, databaseIn, openDatabase } from './database.ts';
import { sqliteDialect } from './dialect.ts';
import { createDiskReserve, type DiskReserve } from './disk.ts';
import { prepareFolder, takeBack } from './folder.ts';
import { isLockedOut, lockFolder } from './folder-lock.ts';
import { createGroupCommit } from './group-commit.ts';
import { openHotCalls } from './hot/calls.ts';
import { createMessages } from './hot/messages.ts';
import { createVolatileRoom } from './hot/volatile-room.ts';
import { createNotedDeliveries, type NotedDeliveries } from './noted-deliveries.ts';
import { createRoomKeeping } from './room.ts';
import { createTurn, createTurnMemory } from './turn.ts';

export interface SqliteOptions {
  /** Posts are refused while less than this is free on the disk. */
  readonly reserveBytes?: number;
  /** The clock; tests turn it themselves. */
  readonly now?: () => number;
  readonly onError?: (error: unknown) => void;
}

const RESERVE_BYTES = 64 * 1024 * 1024;

export async function openSqlite(folder: string, options: SqliteOptions = {}): Promise<Store> {
  const { reserveBytes = RESERVE_BYTES, now = Date.now, onError = () => {} } = options;
  const made = prepareFolder(folder);
  let lock: { release(): void } | undefined;
  let db: DatabaseSync | undefined;
  try {
    lock = lockFolder(folder);
    const disk = createDiskReserve(folder, reserveBytes);
    const place = databaseIn(folder);
    db = openDatabase(place);
    for (const statement of sqliteMessageTables('volatile.')) db.exec(statement);
    return await compose(db, place, disk, lock);
  } catch (error) {
    db?.close();
    lock?.release();
    // Another process may be at home in it by now: that one was faster with the lock.
    if (!isLockedOut(error)) takeBack(folder, made);
    throw explainOpening(folder, error);
  }

  async function compose(
    db: DatabaseSync,
    place: DatabasePlace,
    disk: DiskReserve,
    lock: { release(): void },
  ): Promise<Store> {
    const turnMemory = createTurnMemory();
    const checkpointer = createCheckpointer({ file: place.file, turnMemory }, onError);
    // Numbers of arrival come from the same counter as ids: it only ever rises, also over restarts.
    db.function('next_arrival', () => ids.next());
    const dialect = sqliteDialect('next_arrival()');
    const room = createRoomKeeping(disk, passiveCheckpoint(db));
    const volatileRoom = createVolatileRoom(db);
    /** Undefined while there may be no table for them yet. */
    let noted: NotedDeliveries | undefined;
    const group = createGroupCommit(createConnection(db), dialect, {
      turn: createTurn(turnMemory),
      refuseGrowth() {
        volatileRoom.look();
        return room.refuseGrowth();
      },
      begun() {
        // The hot thread may have noted some since the last turn.
        noted?.forget();
        noted?.enter();
      },
      full: room.full,
      committed(jobs, bytes) {
        volatileRoom.wrote(bytes);
        checkpointer.committed(jobs, bytes);
      },
    });
    await group.transaction((tx) => migrate(tx, 'sqlite'));
    noted = createNotedDeliveries(db);
    const secret = await group.transaction(readSecret);
    const ids = await createIdBlocks(() => group.transaction(reserveIds));
    const hot = await openHotCalls({
      setup: { place, turnMemory, folder, reserveBytes },
      nextArrival: ids.next,
      committed: checkpointer.committed,
    });
    const waker = createWaker();
    let closing: Promise<void> | undefined;

    /** Runs jobs as long as the store is open. */
    const run: Store['transaction'] = (job) =>
      closing === undefined
        ? group.transaction(job)
        : Promise.reject(new Problem('store-unavailable', 'the store is closed', retrySoon));

    const close = async (): Promise<void> => {
      await hot.close();
      await ids.settled();
      await group.drained();
      await checkpointer.close();
      db.close();
      lock.release();
    };

    return {
      engine: 'sqlite',
      dialect,
      messages: createMessages(group, hot, volatileRoom),
      now,
      transaction: run,
      read: run,
      snapshot: run,
      nextId: ids.next,
      secret,
      announce: waker.tell,
      listen: waker.listen,
      ping: async () => {
        await run((tx) => tx.get('SELECT 1'));
      },
      close: () => (closing ??= close()),
    };
  }
}

/** One line for the person who starts the service: which folder, and what the engine says about it. */
function explainOpening(folder: string, error: unknown): unknown {
  const explained = explain(error);
  const cause = explained instanceof Problem ? explained.cause : error;
  if (!(cause instanceof Error) || !('errcode' in cause)) return explained;
  const code = explained instanceof Problem ? explained.code : 'store-unavailable';
  return new Problem(code, `the store in the data folder ${folder} cannot be opened: ${cause.message}`, {}, cause);
}
