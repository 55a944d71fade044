/**
 * Which answer is the last of its connection. A client may send requests one behind the other without waiting: whatever was
 * begun is answered, and nothing is begun behind an answer that announces the end of the connection (RFC 9112, section
 * 9.6), since its client may take that for undone and send it again elsewhere.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Both are on the socket itself: a weak map is dear at every collection. */
const LATEST = Symbol('latest answer');
const CLOSING = Symbol('closing');
type TrackedSocket = Socket & { [LATEST]?: ServerResponse<IncomingMessage>; [CLOSING]?: true };

/** False: the last answer of this connection was given, and the request must not be carried out. */
export function beginAnswer(message: IncomingMessage, response: ServerResponse<IncomingMessage>): boolean {
  const socket: TrackedSocket = message.socket;
  if (socket[CLOSING]) return false;
  socket[LATEST] = response;
  return true;
}

/** The answer to the latest request of a connection. */
export const latestAnswer = (socket: TrackedSocket): ServerResponse<IncomingMessage> | undefined => socket[LATEST];

/** Whether no request has come behind the one that this answers. */
export const isLatest = ({ socket }: { socket: TrackedSocket }, response: ServerResponse): boolean =>
  socket[LATEST] === response;

/** Notes that an answer announces the end of its connection. */
export function announceEnd({ socket }: { socket: TrackedSocket }): void {
  socket[CLOSING] = true;
}
