/** The hot paths of one store, on their thread. */
import type { MessagePort } from 'node:worker_threads';
import { createForgetting } from '../../forget-finished.ts';
import { passiveCheckpoint } from '../checkpoint.ts';
import { createConnection } from '../connection.ts';
import { openDatabase } from '../database.ts';
import { sqliteDialect } from '../dialect.ts';
import { createDiskReserve } from '../disk.ts';
import { createGroupCommit } from '../group-commit.ts';
import { createRoomKeeping } from '../room.ts';
import { createBlockingTurn, type Turn } from '../turn.ts';
import { createClaiming } from './claiming.ts';
import { gatherOutcomes } from './outcomes.ts';
import { createPosting } from './posting.ts';
import { createSettling } from './settling.ts';
import { createVolatileRoom } from './volatile-room.ts';
import {
  type CallBundle,
  CLOSE,
  type HotSetup,
  type OpenedMessage,
  unpackClaims,
  unpackPosts,
  unpackSettlements,
} from './wire.ts';

/** About what a piece of forgotten messages writes. */
const FORGOTTEN_BYTES = 150_000;

/** Opens the database and says so; then carries out the calls of each bundle in group commits. */
export function serveStore(setup: HotSetup, port: MessagePort): void {
  const turn = createBlockingTurn(setup.turnMemory);
  // Others may be at the database, and opening it looks at it.
  turn.take();
  try {
    const { carryOut, close } = openStore(setup, turn, port);
    port.on('message', (bundle: CallBundle | typeof CLOSE) => (bundle === CLOSE ? close() : carryOut(bundle)));
    tell(port, { opened: true });
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number };
    tell(port, { opened: false, message, ...(errcode !== undefined && { errcode }) });
  } finally {
    turn.give();
  }
}

const tell = (port: MessagePort, message: OpenedMessage): void => port.postMessage(message);

function openStore({ place, folder, reserveBytes }: HotSetup, turn: Turn, port: MessagePort) {
  const db = openDatabase(place);
  const volatileRoom = createVolatileRoom(db);
  const room = createRoomKeeping(createDiskReserve(folder, reserveBytes), passiveCheckpoint(db));
  const outcomes = gatherOutcomes(port, () => volatileRoom.hasRoom);
  const group = createGroupCommit(createConnection(db), sqliteDialect('NULL'), {
    turn,
    refuseGrowth() {
      volatileRoom.look();
      return room.refuseGrowth();
    },
    full: room.full,
    committed: outcomes.committed,
  });
  const post = createPosting(db, group);
  const claim = createClaiming(db, group);
  const settle = createSettling(db, group);
  const forget = createForgetting();

  return {
    carryOut({ number, posts, texts, claims, settlements, steps, bodies }: CallBundle): void {
      // Verdicts and posts first: what they bring back or bring in can be claimed by the same commit.
      for (const [index, each] of unpackSettlements(settlements).entries())
        outcomes.expect('settlements', { bundle: number, index }, settle(each));
      for (const [index, each] of unpackPosts(posts, texts, bodies).entries())
        outcomes.expect('posts', { bundle: number, index }, post(each));
      for (const [index, each] of unpackClaims(claims).entries())
        outcomes.expect('claims', { bundle: number, index }, claim(each));
      for (const [index, each] of steps.entries()) {
        const forgotten = group.transaction((tx) => forget(tx, each), { bytes: FORGOTTEN_BYTES });
        outcomes.expect('steps', { bundle: number, index }, forgotten);
      }
    },
    close(): void {
      turn.take();
      db.close();
      turn.give();
      port.close();
    },
  };
}
