/**
 * `refused-address`: it may not be called. `timeout`: no complete answer in time. `network`: no connection, or it broke.
 * `too-large`: the answer passes the limits. `bad-answer`: what came is not HTTP. `bad-request`: what should be sent is
 * not. `aborted`: the caller gave up. `closed`: the service is stopping.
 */
export type OutboundFailure =
  | 'refused-address'
  | 'timeout'
  | 'network'
  | 'too-large'
  | 'bad-answer'
  | 'bad-request'
  | 'aborted'
  | 'closed';

/** An outbound call that got no answer that can be used. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly kind: OutboundFailure;
  /** Whether any of the request may have left this machine. */
  sent = false;

  constructor(kind: OutboundFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

const KINDS: Readonly<Record<string, OutboundFailure>> = {
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'too-large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'network',
  UND_ERR_INVALID_ARG: 'bad-request',
  UND_ERR_NOT_SUPPORTED: 'bad-request',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'bad-request',
  UND_ERR_DESTROYED: 'closed',
  UND_ERR_CLOSED: 'closed',
};

/** Gives the failures of the HTTP library and of the system their names. */
export function asOutboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  const { code = '', name, message } = error as NodeJS.ErrnoException;
  const kind = KINDS[code] ?? (name === 'HTTPParserError' || code.startsWith('HPE_') ? 'bad-answer' : 'network');
  return new OutboundError(kind, message === '' ? code || name : message, error);
}
