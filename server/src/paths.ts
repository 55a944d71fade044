/** The route table: every address of the service, once. Routes are declared on these, hrefs are made from these. */
import { resource } from './http/resource.ts';

export const paths = {
  root: resource('/'),
  status: resource('/status'),
  serviceDescription: resource('/openapi.json'),
  serviceDocumentation: resource('/docs'),
  problem: resource('/problems/{code}'),

  queues: resource('/queues'),
  queue: resource('/queues/{name}'),
  receiving: resource('/queues/{name}/receiving'),
  queueMessage: resource('/queues/{name}/messages/{message-id}'),

  topics: resource('/topics'),
  topic: resource('/topics/{name}'),
  topicMessage: resource('/topics/{name}/messages/{message-id}'),
} as const;
