/** What Waypost knows of a destination. */
import type { DestinationKind, EffectiveSettings, Settings } from './settings.ts';

export interface Destination {
  readonly id: number;
  readonly kind: DestinationKind;
  readonly name: string;
  /** As they were set. */
  readonly settings: Settings;
  /** With their defaults. */
  readonly effective: EffectiveSettings;
  readonly version: number;
  readonly created: number;
}

export interface Counts {
  readonly available: number;
  readonly delayed: number;
  readonly leased: number;
  readonly dead: number;
}

/** Counting stops here; a larger number costs too much to count on every look. */
export const COUNT_LIMIT = 10_000;
