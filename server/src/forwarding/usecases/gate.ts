/**
 * Bounds what is under way at once: calls to one host, calls in all, bytes of messages in memory. Calls to targets that failed
 * before have a lane of their own, so that however many targets hang, those that work do not wait for them. Who waits here
 * has not begun: the time in which a target must answer does not run yet.
 */
export interface Gate {
  /** Resolves when there is room; call what it gives when done. */
  enter(host: string, bytes: number, isRetry: boolean): Promise<() => void>;
}

export interface GateLimits {
  /** Calls to one host at a time, in each lane. */
  readonly perHost: number;
  /** Calls at a time: first ones, and repeated ones. */
  readonly calls: number;
  readonly retries: number;
  readonly bytes: number;
}

interface Room {
  readonly most: { readonly bytes: number; readonly calls: number };
  bytes: number;
  calls: number;
  readonly waiting: { readonly bytes: number; readonly enter: () => void }[];
}

const newRoom = (most: Room['most']): Room => ({ most, bytes: 0, calls: 0, waiting: [] });

/** The first one is let in whatever its size. */
const hasSpace = (room: Room, bytes: number): boolean =>
  room.calls === 0 || (room.calls < room.most.calls && room.bytes + bytes <= room.most.bytes);

function take(room: Room, bytes: number): void {
  room.calls += 1;
  room.bytes += bytes;
}

/** Resolves inside the room. */
function enterRoom(room: Room, bytes: number): Promise<void> | undefined {
  if (room.waiting.length === 0 && hasSpace(room, bytes)) {
    take(room, bytes);
    return undefined;
  }
  return new Promise((resolve) => room.waiting.push({ bytes, enter: resolve }));
}

function leaveRoom(room: Room, bytes: number): void {
  room.calls -= 1;
  room.bytes -= bytes;
  for (let next = room.waiting[0]; next !== undefined && hasSpace(room, next.bytes); next = room.waiting[0]) {
    room.waiting.shift();
    take(room, next.bytes);
    next.enter();
  }
}

interface Lane {
  readonly all: Room;
  readonly hosts: Map<string, Room>;
}

export function createGate({ perHost, calls, retries, bytes }: GateLimits): Gate {
  const lane = (most: Room['most']): Lane => ({ all: newRoom(most), hosts: new Map() });
  const first = lane({ bytes, calls });
  const again = lane({ bytes: bytes / 4, calls: retries });

  return {
    async enter(host, size, isRetry) {
      const { all, hosts } = isRetry ? again : first;
      let room = hosts.get(host);
      if (room === undefined) {
        room = newRoom({ bytes: Number.POSITIVE_INFINITY, calls: perHost });
        hosts.set(host, room);
      }
      const own = room;
      // One host's queue first: who waits for a busy host takes no room from others.
      await enterRoom(own, size);
      await enterRoom(all, size);
      return () => {
        leaveRoom(all, size);
        leaveRoom(own, size);
        if (own.calls === 0 && own.waiting.length === 0 && hosts.get(host) === own) hosts.delete(host);
      };
    },
  };
}
