/** Every link relation that Waypost hands out, with what its target is for. */
export const relations = {
  self: 'the resource itself',
  collection: 'the list that the resource is part of',
  about: 'what the document is about',
  first: 'of a list: its first page; of a topic: the oldest message that is still there',
  next: 'of a list: the page after this; of a topic and its messages: the message that comes after',
  prev: 'of a list: the page before this',
  last: 'of a topic: its newest message',

  queues: 'the list of queues; POST creates one',
  topics: 'the list of topics; POST creates one',
  'transaction-manager': 'the list of transactions; POST begins one',
  'airline-reservations': 'the list of flight reservations; POST makes one, as part of a transaction',
  'hotel-reservations': 'the list of hotel reservations; POST makes one, as part of a transaction',
  consumers: 'the list of consumers; POST creates one',
  entitlements: 'the list of entitlements, of all or of one consumer; POST grants one',
  'operator-notices': 'what a person should look at',
  acknowledge: 'of a notice: POST says that someone has looked at it',
  'service-desc': 'the interface for programs, as OpenAPI',
  'service-doc': 'the interface for people',
  status: 'whether the service can do its work',

  'post-message': 'POST a message: 201, and its address in Location',
  'post-message-once': 'POST nothing: the answer has a create-next link',
  'create-next': 'POST one message, or one batch: it is stored at most once however often it is sent',
  'post-batch': 'POST several messages, multipart/mixed or an Atom feed: all are stored, or none',
  'post-batch-once': 'POST nothing: the answer has a create-next link for a batch',
  'message-factory': 'where messages are made: the same target as post-message',

  poller: 'POST: the next message on lease, with an acknowledgement link',
  receiving: 'POST takes the next message off the queue for good; GET looks at it',
  acknowledgement: 'POST acknowledge=true, acknowledge=false or extend=SECONDS; GET tells the state',
  purge: 'POST drops every message that waits in the queue',
  'dead-letter': 'the queue that takes the messages that died here',
  redrive: 'POST sends dead letters back to where they came from',

  transaction: 'the transaction that the resource is part of',
  'transaction-state': 'the state that the transaction manager changes in its two phases',
  participants: 'of a transaction: who takes part; POST or LINK registers one more',
  participant: 'who takes part in the transaction: a transaction-state resource of any service',
  commit: 'POST commits the transaction',
  rollback: 'POST rolls the transaction back',
  ticket: 'of a flight reservation: its ticket, once the transaction is committed',
  room: 'of a hotel reservation: its room, once the transaction is committed',
  reservation: 'the reservation that the resource belongs to',
  'retry-now': 'POST tries again at once instead of waiting',
  resolve: 'POST records what was done by hand, with who and why',

  consumer: 'whose entitlement it is',
  entitlement: 'the entitlement that is meant',
  terminate: 'POST ends the consumer, or the entitlement; of a list: those that the body names. Nothing is deleted',
  reinstate: 'POST undoes a termination',
  events: 'the topic that tells of every change of a consumer or an entitlement',

  generator: 'the destination a message came from',
  'reply-to': 'where the poster wants answers: POST them there',
  'reply-to-once': 'the same as post-message-once of the destination for answers',
  'reply-to-batch': 'the same as post-batch of the destination for answers',
  'reply-to-batch-once': 'the same as post-batch-once of the destination for answers',
} as const;

/** Relations of address templates: a part is to be filled in. */
export const templateRelations = {
  search: 'the same list, narrowed down by what is filled in',
  queue: 'a queue, by its name',
  topic: 'a topic, by its name',
  message: 'a message of the queue, by an id of your own choice: PUT posts it, and a repeat changes nothing',
} as const;
