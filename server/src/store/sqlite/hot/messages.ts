/** The hot paths as the rest of the service calls them. What cannot share a statement with others is a transaction. */
import { mustPostAlone, postAlone } from '../../post-alone.ts';
import { isVolatile, type MessageStore } from '../../store.ts';
import type { GroupCommit } from '../group-commit.ts';
import type { HotCalls } from './calls.ts';
import type { VolatileRoom } from './volatile-room.ts';

/** `room`: as it was seen by the last transaction. */
export function createMessages(group: GroupCommit, hot: HotCalls, room: VolatileRoom): MessageStore {
  return {
    post(posting) {
      let bytes = 0;
      let grows = false;
      for (const { id, body, headers } of posting.messages) {
        bytes += body.length + headers.length;
        if (!isVolatile(id)) grows = true;
      }
      if (mustPostAlone(posting)) return group.transaction((tx) => postAlone(tx, posting), { bytes, grows });
      return hot.post(posting, bytes);
    },
    postIn: postAlone,
    async postLast(tx, posting) {
      await postAlone(tx, { ...posting, kind: 'topic' });
    },
    claim: hot.claim,
    settle: hot.settle,
    forgetFinished: hot.forgetFinished,
    // Each thread sees the room when it writes: volatile messages with limits or chosen ids take no hot path.
    hasVolatileRoom: () => room.hasRoom && hot.hasVolatileRoom(),
  };
}
