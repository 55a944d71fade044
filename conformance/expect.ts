import assert from 'node:assert/strict';
import type { Answer } from './client.ts';
import { childText, type Element } from './xml.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const RFC3339_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const INSIDES =
  /\n\s+at \S|node_modules|node:internal|\.[cm]?[jt]s:\d|\b(SELECT|INSERT INTO|UPDATE|DELETE FROM) |sqlite|postgres/i;

export type FieldError = { pointer?: string; parameter?: string; header?: string; detail: string };
export type Problem = {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  errors?: FieldError[];
  [member: string]: unknown;
};

/** Fails unless the answer is a problem document (RFC 9457) in JSON with this status, whole and telling no insides. */
export function expectProblem(answer: Answer, ...statuses: number[]): Problem {
  answer.expect(...statuses);
  assert.equal(mediaType(answer), 'application/problem+json', answer.asked);
  const problem = answer.json<Problem>();
  assert.equal(problem.status, answer.status, answer.asked);
  checkProblem(answer, problem);
  return problem;
}

/** The same for a problem in XML. */
export function expectXmlProblem(answer: Answer, ...statuses: number[]): Element {
  answer.expect(...statuses);
  assert.equal(mediaType(answer), 'application/problem+xml', answer.asked);
  const problem = answer.xml();
  assert.equal(problem.name, 'problem');
  assert.equal(problem.namespace, 'urn:ietf:rfc:7807');
  assert.equal(childText(problem, 'status'), String(answer.status), answer.asked);
  const members = ['type', 'title', 'detail', 'instance'].map((name) => [name, childText(problem, name)]);
  checkProblem(answer, Object.fromEntries(members));
  return problem;
}

function checkProblem(answer: Answer, problem: Pick<Problem, 'type' | 'title' | 'detail' | 'instance'>): void {
  assert.match(problem.type, /^https?:\/\/[^/]+\//, 'the type of a problem is an absolute URI');
  assert.ok(problem.title, 'a problem has a title');
  assert.ok(problem.detail, 'a problem has a detail');
  const id = answer.headers['x-request-id'] ?? '';
  assert.match(id, UUID, `${answer.asked}: X-Request-Id`);
  assert.equal(problem.instance, `urn:uuid:${id}`, `${answer.asked}: instance`);
  assert.doesNotMatch(answer.text(), INSIDES, `${answer.asked}: the answer shows insides`);
}

/** The media type without its parameters; '' when there is none. */
export function mediaType(answer: Answer): string {
  return (answer.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

export function expectTime(text: unknown, what: string): void {
  assert.equal(typeof text, 'string', `${what} is a text`);
  assert.match(String(text), RFC3339_UTC, `${what} is RFC 3339 in UTC`);
  assert.ok(!Number.isNaN(Date.parse(String(text))), `${what} is a time: ${text}`);
}

export function expectAbsolute(href: string | undefined, what: string): asserts href is string {
  assert.match(href ?? '', /^https?:\/\/[^/?#\s]+\//, `${what} is an absolute URI`);
}

/** What differs between any two answers. */
const OF_ONE_ANSWER = new Set(['date', 'x-request-id', 'connection', 'keep-alive', 'transfer-encoding']);

/** Fields that two requests for the same thing have in common. */
export function lastingFields(answer: Answer, except: readonly string[] = []): Record<string, string | undefined> {
  const fields = Object.entries(answer.headers).filter(([name]) => !OF_ONE_ANSWER.has(name) && !except.includes(name));
  return Object.fromEntries(fields);
}

/** The methods an Allow field lists. */
export function allowed(answer: Answer): string[] {
  const field = answer.headers.allow;
  assert.ok(field !== undefined, `${answer.asked} answered ${answer.status} without Allow`);
  return field.split(',').map((method) => method.trim());
}
