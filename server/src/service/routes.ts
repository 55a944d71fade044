/** The root, from which everything is reached, and what the service tells about itself. */
import { NO_STORE } from '../http/answer.ts';
import { type Document, JSON_FIRST } from '../http/document.ts';
import type { Link } from '../http/links.ts';
import { chooseMediaType } from '../http/negotiation.ts';
import type { Route } from '../http/operation.ts';
import { templateOf } from '../messaging/views/destinations.ts';
import { paths } from '../paths.ts';
import { Problem, type ProblemCode, problems } from '../problems.ts';
import { describeService } from './openapi.ts';
import { documentationPage, problemPage, rootPage } from './pages.ts';
import { problemTypeShape, rootShape, statusShape } from './shapes.ts';

export interface ServiceInfo {
  readonly version: string;
  readonly engine: string;
  /** By performance.now(). */
  readonly startedAt: number;
  ping(): Promise<void>;
}

const AREA = 'Service';

/** `routes` are those of the areas; the root and the description speak of all of them. */
export function serviceRoutes(info: ServiceInfo, routes: readonly Route[]): Route[] {
  const rootLinks: Link[] = [
    { rel: 'self', href: paths.root.href({}) },
    { rel: 'queues', href: paths.destinations.queue.href({}) },
    { rel: 'topics', href: paths.destinations.topic.href({}) },
    { rel: 'transaction-manager', href: paths.transactionManager.href({}) },
    { rel: 'airline-reservations', href: paths.reservations.airline.href({}) },
    { rel: 'hotel-reservations', href: paths.reservations.hotel.href({}) },
    { rel: 'consumers', href: paths.consumers.href({}) },
    { rel: 'entitlements', href: paths.entitlements.href({}) },
    { rel: 'operator-notices', href: paths.operatorNotices.href({}) },
    { rel: 'service-desc', href: paths.serviceDescription.href({}), type: 'application/vnd.oai.openapi+json' },
    { rel: 'service-doc', href: paths.serviceDocumentation.href({}), type: 'text/html' },
    { rel: 'status', href: paths.status.href({}) },
  ];
  const root: Document = { name: 'service', fields: { name: 'Waypost', version: info.version }, links: rootLinks };
  const templates = [templateOf('queue'), templateOf('topic')];

  const own: Route[] = [
    {
      resource: paths.root,
      title: 'The root',
      area: AREA,
      operations: {
        GET: {
          summary: 'The one address to know: links to everything else',
          produces: ['application/json', 'application/xml', 'text/html'],
          output: rootShape,
          gives: { 200: ['Link-Template'] },
          answers: { 200: 'The links' },
          handle({ base, headers: { accept } }) {
            const html = (): string => rootPage(rootLinks, info.version, base);
            return { status: 200, document: isForPeople(accept) ? { ...root, html } : root, templates };
          },
        },
      },
    },
    {
      resource: paths.status,
      title: 'The status',
      area: AREA,
      operations: {
        GET: {
          summary: 'Version, uptime, engine, and whether the store answers',
          output: statusShape,
          answers: { 200: 'The store answers' },
          problems: ['store-unavailable'],
          async handle() {
            const started = performance.now();
            await answersInTime(info.ping());
            const fields = {
              state: 'ready',
              version: info.version,
              engine: info.engine,
              uptime: Math.round((performance.now() - info.startedAt) / 1000),
              store: { answers: true, milliseconds: Math.round(performance.now() - started) },
            };
            const links = [{ rel: 'self', href: paths.status.href({}) }];
            return { status: 200, headers: [NO_STORE], document: { name: 'status', fields, links } };
          },
        },
      },
    },
    {
      resource: paths.problem,
      title: 'A kind of problem',
      area: AREA,
      operations: {
        GET: {
          summary: 'What a problem means and what to do about it',
          produces: ['application/json', 'application/xml', 'text/html'],
          output: problemTypeShape,
          answers: { 200: 'The explanation' },
          problems: ['not-found'],
          handle({ base, parameters: { code = '' } }) {
            if (!Object.hasOwn(problems, code)) throw new Problem('not-found', `no problem is called ${code}`);
            return { status: 200, document: problemDocument(code as ProblemCode, base) };
          },
        },
      },
    },
    {
      resource: paths.serviceDescription,
      title: 'The service description',
      area: AREA,
      operations: {
        GET: {
          summary: 'This interface as OpenAPI 3.1',
          produces: ['application/vnd.oai.openapi+json'],
          answers: { 200: 'The description' },
          handle: ({ base }) => ({
            status: 200,
            negotiated: true,
            content: {
              type: 'application/vnd.oai.openapi+json',
              body: Buffer.from(JSON.stringify(describeService(all, info.version, base), null, 2)),
            },
          }),
        },
      },
    },
    {
      resource: paths.serviceDocumentation,
      title: 'The documentation',
      area: AREA,
      operations: {
        GET: {
          summary: 'This interface for people',
          produces: ['text/html'],
          answers: { 200: 'A page' },
          handle: ({ base }) => ({
            status: 200,
            negotiated: true,
            content: {
              type: 'text/html; charset=utf-8',
              body: Buffer.from(documentationPage(all, info.version, base)),
            },
          }),
        },
      },
    },
  ];
  const all = [...own, ...routes];
  return own;
}

/**
 * Whether a page may be what is wanted: by a browser, all of which name XHTML, or by a client that takes nothing else of what
 * there is. Programs on Java's HttpURLConnection ask for text/html by default and mean nothing by it.
 */
function isForPeople(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  return accept.toLowerCase().includes('application/xhtml+xml') || chooseMediaType(accept, JSON_FIRST) === undefined;
}

const PATIENCE = 2000;

/** A store that hangs is as bad as one that fails. */
async function answersInTime(ping: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const retry = { headers: { 'Retry-After': '1' } };
  const timer = setTimeout(
    () => reject(new Problem('store-unavailable', 'the store does not answer in time', retry)),
    PATIENCE,
  );
  try {
    await Promise.race([ping, late]);
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem('store-unavailable', 'the store answers with an error', retry, error);
  } finally {
    clearTimeout(timer);
  }
}

function problemDocument(code: ProblemCode, base: string): Document {
  const [status, title, help] = problems[code];
  return {
    name: 'problem-type',
    fields: { code, status, title, help },
    links: [
      { rel: 'self', href: paths.problem.href({ code }) },
      { rel: 'service-doc', href: paths.serviceDocumentation.href({}) },
    ],
    html: () => problemPage(code, status, title, help, base),
  };
}
