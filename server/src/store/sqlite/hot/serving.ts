import type { MessagePort } from 'node:worker_threads';
import { Problem } from '../../../problems.ts';
import { createForgetting } from '../../forget-finished.ts';
import { passiveCheckpoint } from '../checkpoint.ts';
import { createConnection } from '../connection.ts';
import { openDatabase } from '../database.ts';
import { sqliteDialect } from '../dialect.ts';
import { createDiskReserve } from '../disk.ts';
import { createGroupCommit } from '../group-commit.ts';
import { createRoomKeeping } from '../room.ts';
import { createBlockingTurn } from '../turn.ts';
import { createClaiming } from './claiming.ts';
import { createPosting } from './posting.ts';
import { createSettling } from './settling.ts';
import { createVolatileRoom } from './volatile-room.ts';
import {
  type CallBundle,
  type CallKind,
  type CarriedFailure,
  CLOSE,
  gatherTexts,
  type HotSetup,
  type OutcomeBundle,
  packBodies,
  packClaimed,
  packPostOutcome,
  packSettleOutcome,
  unpackClaims,
  unpackPosts,
  unpackSettlements,
} from './wire.ts';

/** Serves one store: carries out the calls of each bundle in group commits and answers with their outcomes. */
export function serveStore({ place, turnMemory, folder, reserveBytes }: HotSetup, port: MessagePort): void {
  const turn = createBlockingTurn(turnMemory);
  // Others may be at the database, and opening it looks at it.
  turn.take();
  const db = openDatabase(place);
  const volatileRoom = createVolatileRoom(db);
  const room = createRoomKeeping(createDiskReserve(folder, reserveBytes), passiveCheckpoint(db));
  let written = { jobs: 0, bytes: 0 };
  const group = createGroupCommit(createConnection(db), sqliteDialect('NULL'), {
    turn,
    refuseGrowth() {
      volatileRoom.look();
      return room.refuseGrowth();
    },
    full: room.full,
    committed(jobs, bytes) {
      written = { jobs: written.jobs + jobs, bytes: written.bytes + bytes };
    },
  });
  const post = createPosting(db, group);
  const claim = createClaiming(db, group);
  const settle = createSettling(db, group);
  const forget = createForgetting();
  turn.give();

  async function carryOut({ number, posts, texts, claims, settlements, steps, bodies }: CallBundle): Promise<void> {
    // Verdicts and posts first: what they bring back or bring in can be claimed by the same commit.
    const failures: CarriedFailure[] = [];
    const [settled, posted, claimed, forgotten] = await Promise.all([
      outcomesOf('settlements', unpackSettlements(settlements).map(settle), failures),
      outcomesOf('posts', unpackPosts(posts, texts, bodies).map(post), failures),
      outcomesOf('claims', unpackClaims(claims).map(claim), failures),
      outcomesOf(
        'steps',
        steps.map((step) => group.transaction((tx) => forget(tx, step))),
        failures,
      ),
    ]);
    const taken = packBodies(claimed.flatMap((messages) => messages?.map(({ body }) => body) ?? []));
    const takenTexts = gatherTexts();
    const outcomes: OutcomeBundle = {
      number,
      settlements: settled.map(packSettleOutcome),
      posts: posted.map(packPostOutcome),
      claims: packClaimed(claimed, takenTexts),
      texts: takenTexts.all,
      steps: forgotten,
      bodies: taken,
      failures,
      written,
      hasVolatileRoom: volatileRoom.hasRoom,
    };
    written = { jobs: 0, bytes: 0 };
    port.postMessage(outcomes, [taken.buffer]);
  }

  port.on('message', (bundle: CallBundle | typeof CLOSE) => {
    if (bundle !== CLOSE) {
      void carryOut(bundle);
      return;
    }
    turn.take();
    db.close();
    turn.give();
    port.close();
  });
}

async function outcomesOf<T>(
  kind: CallKind,
  calls: readonly Promise<T>[],
  failures: CarriedFailure[],
): Promise<(T | undefined)[]> {
  const results = await Promise.allSettled(calls);
  return results.map((result, index) => {
    if (result.status === 'fulfilled') return result.value;
    failures.push(carry(kind, index, result.reason));
    return undefined;
  });
}

function carry(kind: CallKind, index: number, error: unknown): CarriedFailure {
  const { message, stack } = error as Error;
  return { kind, index, code: error instanceof Problem ? error.code : undefined, message, stack };
}
