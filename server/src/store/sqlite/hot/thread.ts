/** The thread of the hot paths: carries out the calls of a bundle in group commits and answers with their outcomes. */
import { parentPort, workerData } from 'node:worker_threads';
import { Problem } from '../../../problems.ts';
import { createForgetting } from '../../forget-finished.ts';
import { passiveCheckpoint } from '../checkpoint.ts';
import { createConnection } from '../connection.ts';
import { type DatabasePlace, openDatabase } from '../database.ts';
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
  type OutcomeBundle,
  packBodies,
  packClaimed,
  packPostOutcome,
  packSettleOutcome,
  unpackClaims,
  unpackPosts,
  unpackSettlements,
} from './wire.ts';

export interface HotSetup {
  readonly place: DatabasePlace;
  readonly turnMemory: SharedArrayBuffer;
  readonly folder: string;
  readonly reserveBytes: number;
}

const { place, turnMemory, folder, reserveBytes } = workerData as HotSetup;
const db = openDatabase(place);
const volatileRoom = createVolatileRoom(db);
const room = createRoomKeeping(createDiskReserve(folder, reserveBytes), passiveCheckpoint(db));
let written = { jobs: 0, bytes: 0 };
const group = createGroupCommit(createConnection(db), sqliteDialect('NULL'), {
  turn: createBlockingTurn(turnMemory),
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

async function carryOut({ number, posts, claims, settlements, steps, bodies }: CallBundle): Promise<void> {
  // Verdicts and posts first: what they bring back or bring in can be claimed by the same commit.
  const settling = unpackSettlements(settlements).map(settle);
  const posting = unpackPosts(posts, bodies).map(post);
  const claiming = unpackClaims(claims).map(claim);
  const forgetting = steps.map((step) => group.transaction((tx) => forget(tx, step)));
  const failures: CarriedFailure[] = [];
  const settled = await outcomesOf('settlements', settling, failures);
  const posted = await outcomesOf('posts', posting, failures);
  const claimed = await outcomesOf('claims', claiming, failures);
  const forgotten = await outcomesOf('steps', forgetting, failures);
  const taken = packBodies(claimed.flatMap((messages) => messages?.map(({ body }) => body) ?? []));
  const outcomes: OutcomeBundle = {
    number,
    settlements: settled.map(packSettleOutcome),
    posts: posted.map(packPostOutcome),
    claims: packClaimed(claimed),
    steps: forgotten,
    bodies: taken,
    failures,
    written,
    hasVolatileRoom: volatileRoom.hasRoom,
  };
  written = { jobs: 0, bytes: 0 };
  parentPort?.postMessage(outcomes, [taken.buffer]);
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

parentPort?.on('message', (bundle: CallBundle | 'close') => {
  if (bundle !== 'close') {
    void carryOut(bundle);
    return;
  }
  db.close();
  parentPort?.close();
});
