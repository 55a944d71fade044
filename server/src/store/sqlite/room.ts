/** What a group commit asks about room on the disk, and what is done when there is none. */
import type { passiveCheckpoint } from './checkpoint.ts';
import type { DiskReserve } from './disk.ts';
import type { GroupHooks } from './group-commit.ts';

export function createRoomKeeping(
  disk: DiskReserve,
  checkpoint: ReturnType<typeof passiveCheckpoint>,
): Pick<GroupHooks, 'refuseGrowth' | 'full'> {
  let refusing = false;

  /** True when it moved something: the WAL has room again. */
  function makeRoom(): boolean {
    try {
      return checkpoint().moved;
    } catch {
      return false;
    }
  }

  function dropBallast(): boolean {
    try {
      return disk.dropBallast();
    } catch {
      // A disk that cannot be written at all.
      return false;
    }
  }

  return {
    refuseGrowth() {
      const refusal = disk.refuseGrowth();
      // While there still is room for it: with an empty WAL, receiving goes on in the room that the WAL has already.
      if (refusal !== undefined && !refusing) makeRoom();
      refusing = refusal !== undefined;
      return refusal;
    },
    full() {
      const dropped = dropBallast();
      return makeRoom() || dropped;
    },
  };
}
