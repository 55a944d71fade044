/** How long a client is waited for. */
import type { Socket } from 'node:net';
import { KEEP_ALIVE_SECONDS } from './answer-head.ts';

/** Milliseconds. One second more than the client was told: what it sends in the last moment is still served. */
export const PATIENCE = {
  idle: (KEEP_ALIVE_SECONDS + 1) * 1000,
  head: 60_000,
  body: 300_000,
  /** How long a client may take nothing of an answer that lies ready for it: as long as it may take to send a request. */
  taking: 300_000,
  /** How long a client that was told to go may be silent before it is cut off. */
  goodbye: 2000,
  /** How long it may go on sending: some do not look for an answer before all is sent. */
  lingering: 30_000,
};

/** Gives a function that tells whether a client has long taken nothing of what lies ready for it. */
export function watchAnswers(socket: Socket): (now: number) => boolean {
  /** What the client had not taken when it was last looked at, and when that was seen to change. */
  let before = 0;
  let changed = 0;
  return (now) => {
    if (socket.writableLength === 0) {
      before = 0;
      return false;
    }
    const untaken = socket.writableLength + heldBelow(socket);
    if (untaken !== before) {
      before = untaken;
      changed = now;
    }
    return now - changed > PATIENCE.taking;
  };
}

/**
 * What the runtime has not handed to the system of an answer. A large one counts as unwritten until its last byte is
 * gone; only here can be seen that a slow client is taking it. Without it a large answer has the time of one piece.
 */
function heldBelow(socket: Socket): number {
  return (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;
}
