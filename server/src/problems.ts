/**
 * Every failure Waypost can answer with: its code, status, title and a sentence of help. The code is the last part of
 * the problem's `type` URI and never changes. HTTP statuses are chosen here and nowhere else.
 */
export const problems = {
  'bad-request': [400, 'The request cannot be read', 'Look at the detail: a part of the request is not well formed.'],
  'bad-name': [
    400,
    'The name is not allowed',
    'Destination names and message ids have 1 to 250 characters of A-Z a-z 0-9 . _ ~ - and are not "." or "..".',
  ],
  'bad-query': [
    400,
    'A query parameter cannot be read',
    'Look at `errors`: each names a parameter and what it may be.',
  ],
  'bad-header': [400, 'A header field cannot be read', 'Look at `errors`: each names a field and what it may be.'],
  'bad-body': [
    400,
    'The body cannot be read',
    'The body is not well formed for its Content-Type. XML with a DOCTYPE is refused.',
  ],
  'not-found': [404, 'There is nothing here', 'Start at the root and follow links; addresses are not to be built.'],
  'unknown-destination': [
    404,
    'There is no such destination',
    'Create it with PUT, or by posting a message to it, and then try again.',
  ],
  'unknown-message': [404, 'There is no such message', 'It never existed here, or was forgotten long ago.'],
  'unknown-subscriber': [404, 'There is no such subscriber', 'It never existed here, or was removed.'],
  'unknown-consumer': [404, 'There is no such consumer', 'It never existed here. Records are never deleted.'],
  'unknown-entitlement': [404, 'There is no such entitlement', 'It never existed here. Records are never deleted.'],
  'method-not-allowed': [405, 'The method is not allowed here', 'The Allow field lists the methods of this resource.'],
  'not-acceptable': [406, 'None of the accepted media types can be served', 'The detail lists what can be served.'],
  conflict: [409, 'The request conflicts with the present state', 'Read the resource again and decide anew.'],
  'destination-exists': [
    409,
    'The destination exists already',
    'Use it as it is, or change its settings with PUT on its own address.',
  ],
  'destination-not-empty': [
    409,
    'The destination still holds messages',
    'Receive or purge them first, or repeat the DELETE with ?force=true to drop them.',
  ],
  'destination-full': [
    409,
    'The destination is full',
    'It has no room for this within its max-length and max-bytes. Receive or purge first, or raise them by PUT; a topic has room when its retention ends.',
  ],
  'too-many-subscribers': [
    409,
    'The destination has too many subscribers',
    'Remove some, or raise the limit, which is a setting of the service.',
  ],
  'already-acknowledged': [
    409,
    'The message is acknowledged already',
    'This delivery has no lease left to extend. Nothing was changed; acknowledge=false puts the message back.',
  ],
  'message-id-taken': [
    409,
    'The message id was used for another message',
    'The same id came with another body or Content-Type before. Choose a new unique id.',
  ],
  'consumer-exists': [
    409,
    'There is a consumer with this id already',
    'Nothing was changed. Read the consumer that is linked, or leave the id out to have one made.',
  ],
  'external-key-taken': [
    409,
    'Another consumer has this external key',
    'External keys are unique. The consumer that has it is linked.',
  ],
  'entitlement-exists': [
    409,
    'There is an entitlement with this id already',
    'Nothing was changed. Read the entitlement that is linked, or leave the id out to have one made.',
  ],
  'already-entitled': [
    409,
    'The consumer has an entitlement to this product already',
    'The first one is linked: change it, terminate it, or wait until it has expired.',
  ],
  'consumer-terminated': [
    409,
    'The consumer is terminated',
    'Follow its reinstate link first; its entitlements come back with it.',
  ],
  'state-unchanged': [
    409,
    'It is in this state already',
    'Nothing was changed. Without Prefer: handling=strict the same request succeeds.',
  ],
  'message-gone': [410, 'The message is gone', 'It was received, deleted or has passed its retention.'],
  'precondition-failed': [412, 'A precondition failed', 'The resource has changed. Read it again and repeat.'],
  overtaken: [
    412,
    'The delivery has been overtaken',
    'The message was handed out again or is dead. Its newest delivery has a link of its own.',
  ],
  'link-used': [
    405,
    'The create-next link was used before',
    'Your message, or one before it, was stored under this link. Post the next one to the create-next link given here.',
  ],
  'link-over': [
    410,
    'The create-next link is too old',
    'Nothing was ever posted to it. Post to the create-next link given here.',
  ],
  'too-large': [413, 'The content is too large', 'The detail names the limit, which is a setting of the service.'],
  'uri-too-long': [414, 'The address is too long', 'Follow links instead of building addresses.'],
  'unsupported-media-type': [415, 'The media type is not understood here', 'Accept-Post lists what is understood.'],
  'expectation-failed': [417, 'The expectation cannot be met', 'The only expectation known is 100-continue.'],
  invalid: [422, 'The content can be read but is wrong', 'Look at `errors`: each points at a field.'],
  'address-refused': [
    422,
    'The address may not be called',
    'Only public http and https addresses are called. The operator can allow others with --outbound-allow.',
  ],
  'too-many-requests': [429, 'Too many requests', 'Wait as long as Retry-After says.'],
  'headers-too-large': [431, 'The header fields are too large', 'Send fewer or shorter fields.'],
  'no-participants': [
    409,
    'The transaction has no participants',
    'Register at least one participant before the commit. The transaction stays uncommitted.',
  ],
  'transaction-rolled-back': [
    409,
    'The transaction was rolled back',
    'The member `transaction` says why. Nothing of it took effect; begin a new transaction.',
  ],
  'transaction-committed': [
    409,
    'The transaction was committed',
    'The decision to commit was taken before; it is never reversed.',
  ],
  'transaction-heuristic': [
    409,
    'The transaction ended mixed',
    'Some participants did not do what was decided. An operator has been told; look at the participants.',
  ],
  'transaction-gone': [410, 'The transaction is over', 'It has ended and takes part in nothing any more.'],
  'commit-begun': [
    412,
    'The commit of the transaction has begun',
    'Participants can be registered only before the commit. Begin a new transaction.',
  ],
  'out-of-turn': [
    409,
    'The state cannot be changed now',
    'Only the transaction manager changes it, in the order of the two-phase commit.',
  ],
  'request-timeout': [408, 'The request did not arrive in time', 'Send it again, faster.'],
  forbidden: [403, 'The operation is not for clients', 'Only the service itself does this.'],
  internal: [500, 'Something went wrong inside Waypost', 'Report it with the X-Request-Id of this answer.'],
  'method-unknown': [501, 'The method is not known', 'OPTIONS on the resource tells which methods it has.'],
  'version-unknown': [505, 'The version of HTTP is not spoken here', 'Speak HTTP/1.1.'],
  'store-unavailable': [
    503,
    'The store does not answer',
    'The outcome of the request is unknown unless it could be repeated safely. Try again after Retry-After.',
  ],
  busy: [503, 'The service is at its limit', 'Try again after Retry-After.'],
  'shutting-down': [503, 'The service is shutting down', 'Try again after Retry-After, or on another node.'],
  'storage-full': [
    507,
    'The disk is full',
    'Nothing was stored and nothing was lost. Make room; the service recovers.',
  ],
} as const satisfies Record<string, readonly [status: number, title: string, help: string]>;

export type ProblemCode = keyof typeof problems;

/** A wrong field: a JSON pointer into the body, or the name of a query parameter or header field. */
export interface FieldError {
  readonly pointer?: string;
  readonly parameter?: string;
  readonly header?: string;
  readonly detail: string;
}

/** The most wrong fields that one answer names: it must not grow with what it refuses. */
export const MOST_FIELD_ERRORS = 20;
const MOST_SHOWN = 100;

/** Text of a client as it is repeated to the client: not all of it, should it be long. */
export const shown = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);

/** The JSON pointer (RFC 6901) to a member of the document. */
export const pointerTo = (name: string): string => `/${shown(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;

export interface ProblemExtras {
  readonly errors?: readonly FieldError[];
  /** Header fields that belong to the answer, for example Allow or Retry-After. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Links to follow from here: relation and path. */
  readonly links?: readonly { readonly rel: string; readonly href: string }[];
  /** Further members of the problem document. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** A failure with a name. Thrown by rules and use cases, turned into an answer in one place. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  constructor(code: ProblemCode, detail: string, extras: ProblemExtras = {}, cause?: unknown) {
    super(detail, { cause });
    this.name = 'Problem';
    this.code = code;
    this.extras = extras;
  }

  get status(): number {
    return problems[this.code][0];
  }

  get title(): string {
    return problems[this.code][1];
  }
}
