import { acknowledgement } from './cases/acknowledgement.ts';
import { atomAnswers } from './cases/atom-answers.ts';
import { atomBatches } from './cases/atom-batches.ts';
import { batches } from './cases/batches.ts';
import { concurrency } from './cases/concurrency.ts';
import { connections } from './cases/connections.ts';
import { consumerChanges } from './cases/consumer-changes.ts';
import { consumers } from './cases/consumers.ts';
import { crawling } from './cases/crawling.ts';
import { creation } from './cases/creation.ts';
import { deadLetterQueues } from './cases/dead-letter-queues.ts';
import { deadLetters } from './cases/dead-letters.ts';
import { delaysAndOrder } from './cases/delays-and-order.ts';
import { deletion } from './cases/deletion.ts';
import { destinationLinks } from './cases/destination-links.ts';
import { documents } from './cases/documents.ts';
import { entitlements } from './cases/entitlements.ts';
import { eventStreams } from './cases/event-streams.ts';
import { forwarding } from './cases/forwarding.ts';
import { heldPromises } from './cases/held-promises.ts';
import { idempotentPut } from './cases/idempotent-put.ts';
import { limits } from './cases/limits.ts';
import { lists } from './cases/lists.ts';
import { messageContent } from './cases/message-content.ts';
import { messageResource } from './cases/message-resource.ts';
import { names } from './cases/names.ts';
import { onceOnly } from './cases/once-only.ts';
import { onceOnlyBatches } from './cases/once-only-batches.ts';
import { operator } from './cases/operator.ts';
import { outcomes } from './cases/outcomes.ts';
import { poller } from './cases/poller.ts';
import { posting } from './cases/posting.ts';
import { preferences } from './cases/preferences.ts';
import { problems } from './cases/problems.ts';
import { receiving } from './cases/receiving.ts';
import { redelivery } from './cases/redelivery.ts';
import { registering } from './cases/registering.ts';
import { replies } from './cases/replies.ts';
import { representations } from './cases/representations.ts';
import { reservations } from './cases/reservations.ts';
import { root } from './cases/root.ts';
import { statuses } from './cases/statuses.ts';
import { subscribers } from './cases/subscribers.ts';
import { surroundings } from './cases/surroundings.ts';
import { topicReaders } from './cases/topic-readers.ts';
import { topics } from './cases/topics.ts';
import { transactionalMessages } from './cases/transactional-messages.ts';
import { transactions } from './cases/transactions.ts';
import { travel } from './cases/travel.ts';
import { waiting } from './cases/waiting.ts';
import { xmlInput } from './cases/xml-input.ts';
import type { World } from './world.ts';

/** Every group of cases by its title. A new group is a file in cases/ and a line here. */
export const cases: Readonly<Record<string, (world: World) => void>> = {
  'G1 to G3: the root, links and addresses': root,
  'Crawler: everything is reached by links': crawling,
  'G4: representations': representations,
  'G5: problems': problems,
  'G6: statuses and methods': statuses,
  'G6: connections': connections,
  'G7: XML input': xmlInput,
  'G8: preferences': preferences,
  'G9: concurrency': concurrency,
  'G10: names': names,
  'G11: lists': lists,
  'G12 to G15: times, CORS, authentication, versions': surroundings,
  'D: limits': limits,
  'A1: creating destinations': creation,
  'A1: deleting destinations': deletion,
  'A2 and A3: destination documents and settings': documents,
  'A4 and A5: posting': posting,
  'A6: the idempotent PUT': idempotentPut,
  'A7, A8 and A14: receiving': receiving,
  'A9: waiting': waiting,
  'A10: message content': messageContent,
  'A11: the message resource': messageResource,
  'A2 and A3: the links of destinations': destinationLinks,
  'A4: delays, lives and order on every way of posting': delaysAndOrder,
  'A12: once-only posting': onceOnly,
  'A13: batches in multipart/mixed': batches,
  'A13: batches in Atom': atomBatches,
  'A13 and A14: batches out as Atom': atomAnswers,
  'A13: once-only batches': onceOnlyBatches,
  'A14: the poller': poller,
  'A15: acknowledgement': acknowledgement,
  'A16: redelivery': redelivery,
  'A16: dead letters, redrive and purge': deadLetters,
  'A3 and A16: which queues are dead-letter queues': deadLetterQueues,
  'A17: topics': topics,
  'A17: readers and posters at once': topicReaders,
  'A17: event streams': eventStreams,
  'A18: replies': replies,
  'A19: subscribers': subscribers,
  'A20 and A21: forwarding': forwarding,
  'B: the travel scenario': travel,
  'B1, B2, B4 and B9: transactions': transactions,
  'B3: registering': registering,
  'B4 to B6: outcomes': outcomes,
  'B8: the operator': operator,
  'B10 to B12: reservations': reservations,
  'B13: messages in transactions': transactionalMessages,
  'B13: ids and links that a transaction holds': heldPromises,
  'C1 to C7: consumers': consumers,
  'C2 to C6: entitlements': entitlements,
  'C8 and C9: terminating many, and events': consumerChanges,
};
