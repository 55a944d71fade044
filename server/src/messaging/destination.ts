/** What Waypost knows of a destination. */
import {
  type DestinationKind,
  type EffectiveSettings,
  effectiveSettings,
  isDeadLetterQueue,
  type Settings,
} from './settings.ts';

/** What is stored of it. */
export interface DestinationRecord {
  readonly id: number;
  readonly kind: DestinationKind;
  readonly name: string;
  /** As they were set. */
  readonly settings: Settings;
  readonly version: number;
  readonly created: number;
}

export interface Destination extends DestinationRecord {
  /** The settings with their defaults. */
  readonly effective: EffectiveSettings;
  /** The most that may wait in it, where that is limited. */
  readonly limits: { readonly length?: number; readonly bytes?: number } | undefined;
  /** Takes the dead messages of other queues: they can be sent back from here, and do not die again. */
  readonly isDeadLetter: boolean;
  /** What the store knows of that: dead messages came here, or another queue names it for its own. */
  readonly isForDead: boolean;
}

export function makeDestination(record: DestinationRecord, isForDead: boolean): Destination {
  const { kind, name, settings } = record;
  const isDeadLetter = isDeadLetterQueue(kind, name, settings, isForDead);
  const effective = effectiveSettings(kind, name, settings, isDeadLetter);
  return { ...record, isForDead, isDeadLetter, effective, limits: limitsOf(effective) };
}

function limitsOf({ 'max-length': length, 'max-bytes': bytes }: EffectiveSettings): Destination['limits'] {
  if (length === undefined && bytes === undefined) return undefined;
  return { ...(length === undefined ? {} : { length }), ...(bytes === undefined ? {} : { bytes }) };
}

export interface Counts {
  readonly available: number;
  readonly delayed: number;
  readonly leased: number;
  readonly dead: number;
}

/** Counting stops here; a larger number costs too much to count on every look. */
export const COUNT_LIMIT = 10_000;
