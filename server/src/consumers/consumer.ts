/** A consumer and its rules. */
import { uuid } from '../kinds.ts';
import { type FieldError, Problem } from '../problems.ts';
import { fieldsOf, type Input, type Metadata } from './fields.ts';

export type ConsumerState = 'active' | 'terminated';

/** Who ended something, when and why. `by` is the authenticated caller, where there is one. */
export interface Termination {
  readonly at: number;
  readonly by?: string;
  readonly reason?: string;
}

/** What a caller says about a change of state. */
export interface Change {
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
}

export interface Consumer {
  /** Its place in listings. */
  readonly n: number;
  readonly id: string;
  readonly name: string;
  readonly externalKey: string | null;
  readonly metadata: Metadata;
  readonly version: number;
  /** How often it was terminated and reinstated. */
  readonly epoch: number;
  /** How many of its entitlements are not terminated themselves. */
  readonly entitlements: number;
  readonly created: number;
  readonly updated: number;
  readonly terminated?: Termination;
}

export const stateOf = ({ terminated }: Pick<Consumer, 'terminated'>): ConsumerState =>
  terminated === undefined ? 'active' : 'terminated';

/** What a client may write. What is undefined stays as it is. */
export interface ConsumerChanges {
  readonly name?: string;
  readonly externalKey?: string | null;
  readonly metadata?: Metadata;
}

export const LONGEST_NAME = 255;
export const LONGEST_KEY = 255;

const READ_ONLY = ['state', 'created', 'updated', 'terminated', 'entitlement-count', 'links'];
const KNOWN = ['id', 'name', 'external-key', 'metadata', ...READ_ONLY];

function readChanges(input: Input): { fields: ReturnType<typeof fieldsOf>; changes: ConsumerChanges } {
  const fields = fieldsOf(input, KNOWN);
  const name = fields.text('name', LONGEST_NAME);
  const externalKey = fields.optionalText('external-key', LONGEST_KEY);
  const metadata = fields.metadata('metadata');
  const changes = {
    ...(name === undefined ? {} : { name }),
    ...(externalKey === undefined ? {} : { externalKey }),
    ...(metadata === undefined ? {} : { metadata }),
  };
  return { fields, changes };
}

export interface NewConsumer {
  /** Undefined: one is made. */
  readonly id: string | undefined;
  readonly name: string;
  readonly externalKey: string | null;
  readonly metadata: Metadata;
}

export function readNewConsumer(input: Input): NewConsumer {
  const { fields, changes } = readChanges(input);
  const { name = '', externalKey = null, metadata = {} } = changes;
  if (input.name === undefined) fields.wrong('name', 'must be given');
  if (input.state !== undefined && input.state !== 'active') {
    fields.wrong('state', 'must be active or left out: a consumer begins active and is ended by its terminate link');
  }
  const id = readNewId(input, fields.wrong);
  fields.end();
  return { id, name, externalKey, metadata };
}

/** An id that the client chose; undefined when it leaves the choice to us. */
export function readNewId(input: Input, wrong: (name: string, detail: string) => undefined): string | undefined {
  if (input.id === undefined) return undefined;
  return uuid.read(String(input.id).trim()) ?? wrong('id', `must be ${uuid.expected} or left out`);
}

/** An update: `claimed` is what the document says of things that an update does not change. */
export interface ConsumerUpdate {
  readonly changes: ConsumerChanges;
  readonly claimed: { readonly id?: string; readonly state?: string };
}

export function readConsumerUpdate(input: Input): ConsumerUpdate {
  const { fields, changes } = readChanges(input);
  fields.end();
  return { changes, claimed: claimsOf(input) };
}

export function claimsOf(input: Input): { id?: string; state?: string } {
  const { id, state } = input;
  return {
    ...(id === undefined ? {} : { id: String(id).trim().toLowerCase() }),
    ...(state === undefined ? {} : { state: String(state) }),
  };
}

type Links = readonly { readonly rel: string; readonly href: string }[];

/** A document that was fetched and sent back says what is; one that says something else wants what an update cannot do. */
export function refuseOtherId(claimed: string | undefined, present: string, links: Links): void {
  if (claimed === undefined || claimed === present) return;
  throw wrongClaim([{ pointer: '/id', detail: `must be ${present} or left out: an id never changes` }], links);
}

/** `links` leads to the operation that does what was wanted. */
export function refuseOtherState(detail: string, links: Links): never {
  throw wrongClaim([{ pointer: '/state', detail }], links);
}

function wrongClaim(errors: FieldError[], links: Links): Problem {
  const detail = errors.map((error) => `${error.pointer?.slice(1)} ${error.detail}`).join('; ');
  return new Problem('invalid', detail, { errors, links });
}

/** The names of the fields that really change, as clients know them. */
export function changedFields(consumer: Consumer, changes: ConsumerChanges): string[] {
  const changed: string[] = [];
  if (changes.name !== undefined && changes.name !== consumer.name) changed.push('name');
  if (changes.externalKey !== undefined && changes.externalKey !== consumer.externalKey) changed.push('external-key');
  if (changes.metadata !== undefined && !sameMetadata(changes.metadata, consumer.metadata)) changed.push('metadata');
  return changed;
}

function sameMetadata(one: Metadata, other: Metadata): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
