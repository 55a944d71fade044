/** The route table: every address of the service, once. Routes are declared on these, hrefs are made from these. */
import { resource } from './http/resource.ts';

/** The same address under a queue and under a topic. */
function both<T extends string>(rest: T) {
  return { queue: resource(`/queues/{name}${rest}`), topic: resource(`/topics/{name}${rest}`) } as const;
}

export const paths = {
  root: resource('/'),
  status: resource('/status'),
  serviceDescription: resource('/openapi.json'),
  serviceDocumentation: resource('/docs'),
  problem: resource('/problems/{code}'),

  destinations: { queue: resource('/queues'), topic: resource('/topics') },
  destination: both(''),
  messages: both('/messages'),
  message: both('/messages/{message-id}'),
  postOnce: both('/post-once'),
  createNext: both('/post-once/{token}'),
  batches: both('/batches'),
  batchOnce: both('/batch-once'),
  createNextBatch: both('/batch-once/{token}'),

  subscribers: both('/subscribers'),
  subscriber: both('/subscribers/{subscriber}'),
  enableSubscriber: both('/subscribers/{subscriber}/enable'),
  disableSubscriber: both('/subscribers/{subscriber}/disable'),
  trySubscriber: both('/subscribers/{subscriber}/try-now'),

  receiving: resource('/queues/{name}/receiving'),
  poller: resource('/queues/{name}/poller'),
  acknowledgement: resource('/queues/{name}/messages/{message-id}/acknowledgement/{token}'),
  purge: resource('/queues/{name}/purge'),
  redrive: resource('/queues/{name}/redrive'),

  transactionManager: resource('/transaction-manager'),
  transaction: resource('/transaction-manager/transactions/{transaction}'),
  participants: resource('/transaction-manager/transactions/{transaction}/participants'),
  participant: resource('/transaction-manager/transactions/{transaction}/participants/{participant}'),
  resolveParticipant: resource('/transaction-manager/transactions/{transaction}/participants/{participant}/resolve'),
  retryTransaction: resource('/transaction-manager/transactions/{transaction}/retry-now'),
  transactionMessages: resource('/transaction-manager/transactions/{transaction}/messages'),

  reservations: { airline: resource('/airline/reservations'), hotel: resource('/hotel/reservations') },
  reservation: {
    airline: resource('/airline/reservations/{reservation}'),
    hotel: resource('/hotel/reservations/{reservation}'),
  },
  transactionState: {
    airline: resource('/airline/reservations/{reservation}/transaction-state'),
    hotel: resource('/hotel/reservations/{reservation}/transaction-state'),
  },
  outcome: { airline: resource('/tickets/{reservation}'), hotel: resource('/rooms/{reservation}') },

  operatorNotices: resource('/operator-notices'),
  operatorNotice: resource('/operator-notices/{notice}'),
  acknowledgeNotice: resource('/operator-notices/{notice}/acknowledge'),

  consumers: resource('/consumers'),
  consumer: resource('/consumers/{uuid}'),
  consumerEntitlements: resource('/consumers/{uuid}/entitlements'),
  terminateConsumer: resource('/consumers/{uuid}/terminate'),
  reinstateConsumer: resource('/consumers/{uuid}/reinstate'),
  terminateConsumers: resource('/consumers/terminate'),
  entitlements: resource('/entitlements'),
  entitlement: resource('/entitlements/{uuid}'),
  terminateEntitlement: resource('/entitlements/{uuid}/terminate'),
  reinstateEntitlement: resource('/entitlements/{uuid}/reinstate'),
  terminateEntitlements: resource('/entitlements/terminate'),
  termination: resource('/terminations/{termination}'),

  first: resource('/topics/{name}/first'),
  last: resource('/topics/{name}/last'),
  next: resource('/topics/{name}/next/{position}'),
} as const;
