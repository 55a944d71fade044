/** SQL of the room that is left in a destination. */
import { countForLimits, hasRoom } from '../../store/limits.ts';
import type { Tx } from '../../store/store.ts';
import type { Destination } from '../destination.ts';

/** Takes the room for one message of so many bytes, if it is there. */
export type TakeRoom = (bytes: number) => boolean;

/** The destination must be locked: what waits is counted once. */
export async function roomIn(tx: Tx, { id, kind, limits }: Destination): Promise<TakeRoom> {
  if (limits === undefined) return () => true;
  let waiting = await countForLimits(tx, { kind, destination: id }, limits);
  return (bytes) => {
    const then = { length: waiting.length + 1, bytes: waiting.bytes + bytes };
    if (!hasRoom(then, limits)) return false;
    waiting = then;
    return true;
  };
}
