/** A small model of the area: what every action does, in plain code, with no store, no HTTP and no concurrency. */

import type { EntitlementState } from '../../src/consumers/entitlement.ts';
import type { ProblemCode } from '../../src/problems.ts';

export interface ModelEntitlement {
  readonly id: string;
  readonly consumer: ModelConsumer;
  readonly product: string;
  quantity: number;
  start: number;
  end: number | null;
  version: number;
  terminated?: { at: number; reason?: string };
}

export interface ModelConsumer {
  readonly id: string;
  name: string;
  key: string | null;
  version: number;
  terminated?: { at: number; reason?: string };
  readonly entitlements: ModelEntitlement[];
}

export type ModelOutcome = { readonly problem: ProblemCode } | { readonly version: number };
export type ModelEvent = readonly [type: string, id: string, version: number, count?: number];

const problem = (code: ProblemCode): ModelOutcome => ({ problem: code });

export class Model {
  now: number;
  readonly consumers: ModelConsumer[] = [];
  readonly entitlements: ModelEntitlement[] = [];
  readonly events: ModelEvent[] = [];

  constructor(now: number) {
    this.now = now;
  }

  create(id: string, name: string, key: string | null): ModelOutcome {
    if (this.consumers.some((each) => each.id === id)) return problem('consumer-exists');
    if (this.ownerOf(key) !== undefined) return problem('external-key-taken');
    this.consumers.push({ id, name, key, version: 1, entitlements: [] });
    this.events.push(['consumer.created', id, 1]);
    return { version: 1 };
  }

  private ownerOf(key: string | null): ModelConsumer | undefined {
    return key === null ? undefined : this.consumers.find((each) => each.key === key);
  }

  update(consumer: ModelConsumer, name: string | undefined, key: string | null | undefined): ModelOutcome {
    const owner = this.ownerOf(key ?? null);
    if (owner !== undefined && owner !== consumer) return problem('external-key-taken');
    const isSame = (name ?? consumer.name) === consumer.name && (key === undefined || key === consumer.key);
    if (isSame) return { version: consumer.version };
    consumer.name = name ?? consumer.name;
    if (key !== undefined) consumer.key = key;
    consumer.version++;
    this.events.push(['consumer.updated', consumer.id, consumer.version]);
    return { version: consumer.version };
  }

  setState(consumer: ModelConsumer, to: 'terminated' | 'active', strict: boolean, reason?: string): ModelOutcome {
    if ((consumer.terminated !== undefined) === (to === 'terminated')) {
      return strict ? problem('state-unchanged') : { version: consumer.version };
    }
    if (to === 'active') delete consumer.terminated;
    else consumer.terminated = { at: this.now, ...(reason === undefined ? {} : { reason }) };
    consumer.version++;
    const type = to === 'active' ? 'consumer.reinstated' : 'consumer.terminated';
    this.events.push([type, consumer.id, consumer.version, this.countOf(consumer)]);
    return { version: consumer.version };
  }

  countOf(consumer: ModelConsumer): number {
    return consumer.entitlements.filter(({ terminated }) => terminated === undefined).length;
  }

  private holdsPlace({ terminated, end }: Pick<ModelEntitlement, 'terminated' | 'end'>): boolean {
    return terminated === undefined && (end === null || end > this.now);
  }

  private hasRival(entitlement: Pick<ModelEntitlement, 'id' | 'consumer' | 'product'>): boolean {
    return entitlement.consumer.entitlements.some(
      (each) => each.id !== entitlement.id && each.product === entitlement.product && this.holdsPlace(each),
    );
  }

  grant(
    consumer: ModelConsumer,
    id: string,
    { product, quantity, start, end }: { product: string; quantity: number; start?: number; end: number | null },
  ): ModelOutcome {
    if (consumer.terminated !== undefined) return problem('consumer-terminated');
    const made: ModelEntitlement = { id, consumer, product, quantity, start: start ?? this.now, end, version: 1 };
    if (end !== null && end <= made.start) return problem('invalid');
    if (this.holdsPlace(made) && this.hasRival(made)) return problem('already-entitled');
    consumer.entitlements.push(made);
    this.entitlements.push(made);
    consumer.version++;
    this.events.push(['entitlement.created', id, 1]);
    return { version: 1 };
  }

  change(entitlement: ModelEntitlement, changes: { quantity?: number; end?: number | null }): ModelOutcome {
    const { quantity = entitlement.quantity, end = entitlement.end } = changes;
    if (quantity === entitlement.quantity && end === entitlement.end) return { version: entitlement.version };
    if (end !== null && end <= entitlement.start) return problem('invalid');
    const comesBack =
      entitlement.terminated === undefined && !this.holdsPlace(entitlement) && this.holdsPlace({ ...entitlement, end });
    if (comesBack && this.hasRival(entitlement)) return problem('already-entitled');
    Object.assign(entitlement, { quantity, end, version: entitlement.version + 1 });
    this.events.push(['entitlement.updated', entitlement.id, entitlement.version]);
    return { version: entitlement.version };
  }

  end(entitlement: ModelEntitlement, strict: boolean, reason?: string): ModelOutcome {
    if (entitlement.terminated !== undefined || entitlement.consumer.terminated !== undefined) {
      return strict ? problem('state-unchanged') : { version: entitlement.version };
    }
    entitlement.terminated = { at: this.now, ...(reason === undefined ? {} : { reason }) };
    entitlement.version++;
    entitlement.consumer.version++;
    this.events.push(['entitlement.terminated', entitlement.id, entitlement.version]);
    return { version: entitlement.version };
  }

  restore(entitlement: ModelEntitlement, strict: boolean): ModelOutcome {
    if (entitlement.consumer.terminated !== undefined) return problem('consumer-terminated');
    if (entitlement.terminated === undefined) {
      return strict ? problem('state-unchanged') : { version: entitlement.version };
    }
    if ((entitlement.end === null || entitlement.end > this.now) && this.hasRival(entitlement)) {
      return problem('already-entitled');
    }
    delete entitlement.terminated;
    entitlement.version++;
    entitlement.consumer.version++;
    this.events.push(['entitlement.reinstated', entitlement.id, entitlement.version]);
    return { version: entitlement.version };
  }

  stateOf({ terminated, consumer, start, end }: ModelEntitlement, at: number = this.now): EntitlementState {
    if (terminated !== undefined && terminated.at <= at) return 'terminated';
    if (consumer.terminated !== undefined && consumer.terminated.at <= at) return 'terminated';
    if (end !== null && end <= at) return 'expired';
    return start > at ? 'pending' : 'active';
  }
}
