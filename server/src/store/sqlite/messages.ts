/** The hot paths on SQLite: synchronous jobs of a group commit, on prepared statements. */
import type { DatabaseSync } from 'node:sqlite';
import { postAlone } from '../post-alone.ts';
import type { MessageStore } from '../store.ts';
import { createClaiming } from './claiming.ts';
import type { GroupCommit } from './group-commit.ts';
import { createPosting } from './posting.ts';
import { createSettling } from './settling.ts';
import { createVolatileRoom } from './volatile-room.ts';

export function createMessages(db: DatabaseSync, group: GroupCommit, nextArrival: () => number): MessageStore {
  return {
    post: createPosting(db, group, nextArrival),
    postIn: postAlone,
    async postLast(tx, posting) {
      await postAlone(tx, { ...posting, kind: 'topic' });
    },
    claim: createClaiming(db, group),
    settle: createSettling(db, group),
    hasVolatileRoom: createVolatileRoom(db),
  };
}
