/** An entitlement and its rules: a relation between a consumer and a product. Its state is derived, never stored. */
import { integer, time } from '../kinds.ts';
import { claimsOf, readNewId, type Termination } from './consumer.ts';
import { type Fields, fieldsOf, type Input } from './fields.ts';

export const ENTITLEMENT_STATES = ['active', 'pending', 'expired', 'terminated'] as const;
export type EntitlementState = (typeof ENTITLEMENT_STATES)[number];

/** The place of an entitlement in listings: by consumer, then by age. */
export interface Key {
  readonly consumer: number;
  readonly n: number;
}

export const compareKeys = (a: Key, b: Key): number => a.consumer - b.consumer || a.n - b.n;

export const keyOf = ({ consumer, n }: Pick<Entitlement, 'consumer' | 'n'>): Key => ({ consumer: consumer.n, n });

export interface Entitlement {
  readonly n: number;
  readonly id: string;
  readonly product: { readonly id: string; readonly name?: string };
  readonly quantity: number;
  readonly start: number;
  readonly end: number | null;
  readonly version: number;
  readonly created: number;
  readonly updated: number;
  /** Of the entitlement itself. */
  readonly terminated?: Termination;
  /** Whose it is, as far as the entitlement depends on it. */
  readonly consumer: {
    readonly n: number;
    readonly id: string;
    readonly epoch: number;
    readonly terminated?: Termination;
  };
}

/**
 * The state now, or at another moment by what is recorded now: a termination counts from its own moment on, and one that
 * was undone has left no trace.
 */
export function stateAt(
  { terminated, consumer, start, end }: Pick<Entitlement, 'start' | 'end' | 'terminated' | 'consumer'>,
  now: number,
  at: number = now,
): EntitlementState {
  // What is terminated is so now, even if the clock that says when runs ahead of ours.
  const counts = (termination: Termination | undefined): boolean =>
    termination !== undefined && (at >= now || termination.at <= at);
  if (counts(terminated) || counts(consumer.terminated)) return 'terminated';
  if (end !== null && end <= at) return 'expired';
  return start > at ? 'pending' : 'active';
}

/** By whom it is terminated, if it is: itself or its consumer. Its own termination is told first. */
export function terminationOf({
  terminated,
  consumer,
}: Pick<Entitlement, 'terminated' | 'consumer'>): (Termination & { cause: 'consumer' | 'entitlement' }) | undefined {
  if (terminated !== undefined) return { ...terminated, cause: 'entitlement' };
  return consumer.terminated && { ...consumer.terminated, cause: 'consumer' };
}

/** What a representation depends on: the row, the life of its consumer, and the time. */
export const versionOf = (entitlement: Entitlement, now: number): string =>
  `${entitlement.version}.${entitlement.consumer.epoch}.${stateAt(entitlement, now)}`;

/** Whether it stands in the way of another one for the same product. What its consumer is does not matter here. */
export const holdsPlace = ({ end }: { readonly end: number | null }, now: number): boolean => end === null || end > now;

export interface EntitlementChanges {
  readonly quantity?: number;
  readonly start?: number;
  readonly end?: number | null;
  readonly productName?: string | null;
}

export interface NewEntitlement {
  readonly id: string | undefined;
  readonly product: { readonly id: string; readonly name: string | null };
  readonly quantity: number;
  /** Undefined: from now on. */
  readonly start: number | undefined;
  readonly end: number | null;
}

const LONGEST_PRODUCT = 255;
const QUANTITY = integer(1, 1_000_000_000);
const READ_ONLY = ['state', 'created', 'updated', 'terminated', 'links'];
const KNOWN = ['id', 'consumer', 'product', 'quantity', 'start', 'end', ...READ_ONLY];

/** A product is named by its id alone, or by an object with id and name. */
function readProduct(
  { product: value }: Input,
  fields: Fields,
): { id: string | undefined; name: string | null | undefined } {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const inner = isObject ? fields.within('product', value as Input, ['id', 'name']) : undefined;
  if (inner === undefined) return { id: fields.text('product', LONGEST_PRODUCT), name: undefined };
  return { id: inner.text('id', LONGEST_PRODUCT), name: inner.optionalText('name', LONGEST_PRODUCT) };
}

export function readNewEntitlement(input: Input): NewEntitlement {
  const fields = fieldsOf(input, KNOWN);
  const product = readProduct(input, fields);
  if (product.id === undefined && fields.isRight) fields.wrong('product', 'must be given, or have an id');
  const quantity = fields.number('quantity', QUANTITY) ?? 1;
  const start = fields.optionalTime('start', time) ?? undefined;
  const end = fields.optionalTime('end', time) ?? null;
  if (start !== undefined && end !== null && end <= start) fields.wrong('end', 'must be after start');
  if (input.state === 'terminated')
    fields.wrong('state', 'follows from start and end; to end it, follow its terminate link');
  const id = readNewId(input, fields.wrong);
  fields.end();
  return { id, product: { id: product.id ?? '', name: product.name ?? null }, quantity, start, end };
}

export interface EntitlementUpdate {
  readonly changes: EntitlementChanges;
  readonly claimed: {
    readonly id?: string;
    readonly state?: string;
    readonly product?: string;
    readonly consumer?: string;
  };
}

export function readEntitlementUpdate(input: Input, consumer: string | undefined): EntitlementUpdate {
  const fields = fieldsOf(input, KNOWN);
  const product = readProduct(input, fields);
  const quantity = fields.number('quantity', QUANTITY);
  const start = fields.number('start', time);
  const end = fields.optionalTime('end', time);
  fields.end();
  const changes = {
    ...(quantity === undefined ? {} : { quantity }),
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
    ...(product.name === undefined ? {} : { productName: product.name }),
  };
  const claimed = {
    ...claimsOf(input),
    ...(product.id === undefined ? {} : { product: product.id }),
    ...(consumer === undefined ? {} : { consumer }),
  };
  return { changes, claimed };
}

export function changedFields(entitlement: Entitlement, changes: EntitlementChanges): string[] {
  const { quantity, start, end, product } = entitlement;
  const changed: string[] = [];
  if (changes.quantity !== undefined && changes.quantity !== quantity) changed.push('quantity');
  if (changes.start !== undefined && changes.start !== start) changed.push('start');
  if (changes.end !== undefined && changes.end !== end) changed.push('end');
  if (changes.productName !== undefined && changes.productName !== (product.name ?? null)) changed.push('product');
  return changed;
}

const COURSE: readonly string[] = ['pending', 'active', 'expired'];

/**
 * Whether a document that was sent back may claim this state. Time goes on between a GET and a POST, so an earlier state
 * in the course of time is no claim; `terminated` is one in both directions.
 */
export function mayClaim(claimed: string, present: EntitlementState): boolean {
  if (claimed === 'terminated' || present === 'terminated') return claimed === present;
  return COURSE.includes(claimed) && COURSE.indexOf(claimed) <= COURSE.indexOf(present);
}
