/** The settings of a destination (A3): what they may be, their defaults, and how they are read. */

import { integer, type Kind, secondsUpTo } from '../kinds.ts';
import { type FieldError, MOST_FIELD_ERRORS, Problem, pointerTo } from '../problems.ts';
import { checkName } from './names.ts';

export type DestinationKind = 'queue' | 'topic';

/** Values that were set; what is left out has its default. */
export interface Settings {
  readonly lease?: number;
  readonly 'max-deliveries'?: number;
  readonly 'dead-letter'?: string;
  readonly ttl?: number;
  readonly delay?: number;
  readonly retention?: number;
  readonly 'max-length'?: number;
  readonly 'max-bytes'?: number;
}

type SettingName = keyof Settings;

const YEAR = 365 * 86_400;

const deadLetter: Kind<string> = {
  expected: 'the name of a queue',
  schema: { type: 'string' },
  read(text) {
    try {
      return checkName(text, 'destination name');
    } catch {
      return undefined;
    }
  },
};

const kinds: Readonly<Record<SettingName, { kind: Kind<unknown>; for: readonly DestinationKind[]; help: string }>> = {
  lease: {
    kind: secondsUpTo(YEAR, { above: 0 }),
    for: ['queue'],
    help: 'seconds a polled message is hidden from others',
  },
  'max-deliveries': { kind: integer(1, 1_000_000), for: ['queue'], help: 'deliveries before a message is dead' },
  'dead-letter': { kind: deadLetter, for: ['queue'], help: 'the queue that takes dead messages' },
  ttl: {
    kind: secondsUpTo(YEAR, { above: 0 }),
    for: ['queue', 'topic'],
    help: 'seconds a message lives unless it says',
  },
  delay: { kind: secondsUpTo(YEAR), for: ['queue'], help: 'seconds a message is hidden unless it says' },
  retention: { kind: secondsUpTo(YEAR), for: ['queue', 'topic'], help: 'seconds a consumed or topic message is kept' },
  'max-length': { kind: integer(1, 1_000_000_000), for: ['queue', 'topic'], help: 'most messages waiting' },
  'max-bytes': { kind: integer(1, Number.MAX_SAFE_INTEGER), for: ['queue', 'topic'], help: 'most bytes waiting' },
};

/** The settings of a queue or a topic, with what they may be. */
export function settingsOf(kind: DestinationKind) {
  return (Object.entries(kinds) as [SettingName, (typeof kinds)[SettingName]][]).filter(([, { for: whom }]) =>
    whom.includes(kind),
  );
}

export const defaultSettings = {
  lease: 30,
  'max-deliveries': 10,
  queueRetention: 3600,
  topicRetention: 7 * 86_400,
} as const;

/** At most this many consumed messages of a queue are kept, whatever its retention. */
export const MAX_CONSUMED_KEPT = 10_000;

/** Fields of a fetched document that are no settings; a document that is sent back is accepted. */
const READ_ONLY = new Set(['name', 'kind', 'created', 'counts', 'links', 'type']);

/** The settings that a document gives the destination of that name. Throws 422 with all that is wrong with them. */
export function readSettings(
  kind: DestinationKind,
  destination: string,
  fields: Readonly<Record<string, unknown>>,
): Settings {
  const settings: Record<string, unknown> = {};
  const errors: FieldError[] = [];
  const wrong = (name: string, detail: string): void => {
    if (errors.length < MOST_FIELD_ERRORS) errors.push({ pointer: pointerTo(name), detail });
  };
  for (const [name, value] of Object.entries(fields)) {
    if (READ_ONLY.has(name)) continue;
    const setting = Object.hasOwn(kinds, name) ? kinds[name as SettingName] : undefined;
    if (setting === undefined || !setting.for.includes(kind)) {
      const known = settingsOf(kind)
        .map(([each]) => each)
        .join(', ');
      wrong(name, `is not a setting of a ${kind}; known are ${known}`);
      continue;
    }
    if (value === null || value === '') continue;
    const read = typeof value === 'string' || typeof value === 'number' ? setting.kind.read(String(value)) : undefined;
    if (read === undefined) wrong(name, `must be ${setting.kind.expected}`);
    else if (name !== 'dead-letter') settings[name] = read;
    // What died there would come back as a new message that dies again, without end.
    else if (read === destination) wrong(name, 'must be another queue than this one');
    else if (isNamedDead(destination))
      wrong(name, `is not for a queue whose name ends with ${DEAD_SUFFIX}: ${NO_CHAINS}`);
    // The default says nothing, also when it is spelt out, as in a document that is sent back.
    else if (read !== deadLetterName(destination)) settings[name] = read;
  }
  if (errors.length > 0) {
    throw new Problem('invalid', errors.map((error) => `${error.pointer?.slice(1)} ${error.detail}`).join('; '), {
      errors,
    });
  }
  return settings as Settings;
}

export interface EffectiveSettings extends Settings {
  readonly retention: number;
  readonly lease: number;
}

/** The default of every queue ends so: such a name is kept for dead letters. */
const DEAD_SUFFIX = '.dead';
const isNamedDead = (name: string): boolean => name.endsWith(DEAD_SUFFIX);

/** Why a dead-letter queue has no dead-letter queue. */
const NO_CHAINS = 'what lies in a dead-letter queue does not die again';

/** A setting that would make a chain of dead-letter queues, or a circle. */
export function refuseChain(detail: string): never {
  throw new Problem('invalid', `dead-letter ${detail}: ${NO_CHAINS}`, {
    errors: [{ pointer: '/dead-letter', detail }],
  });
}

/**
 * A queue is a dead-letter queue while another names it. Once it was used as one it stays one, until it has one itself, which it
 * can when nobody names it.
 */
export function isDeadLetterQueue(
  kind: DestinationKind,
  name: string,
  settings: Settings,
  isForDead: boolean,
): boolean {
  if (kind === 'topic' || settings['dead-letter'] !== undefined) return false;
  return isForDead || isNamedDead(name);
}

/** The settings with their defaults, as they are shown. A dead-letter queue has neither deliveries nor a dead letter. */
export function effectiveSettings(
  kind: DestinationKind,
  name: string,
  settings: Settings,
  isDeadLetter: boolean,
): EffectiveSettings {
  if (kind === 'topic') {
    return {
      ...settings,
      lease: defaultSettings.lease,
      retention: settings.retention ?? defaultSettings.topicRetention,
    };
  }
  const deadLetters = {
    'max-deliveries': settings['max-deliveries'] ?? defaultSettings['max-deliveries'],
    'dead-letter': settings['dead-letter'] ?? deadLetterName(name),
  };
  // What was set of them before it became one is kept, and counts again should it no longer be one.
  const { 'max-deliveries': _most, 'dead-letter': _name, ...others } = settings;
  return {
    ...others,
    ...(isDeadLetter ? {} : deadLetters),
    lease: settings.lease ?? defaultSettings.lease,
    retention: settings.retention ?? defaultSettings.queueRetention,
  };
}

/** The default dead-letter queue; a name that would grow too long gives up its end. */
function deadLetterName(name: string): string {
  return name.slice(0, 250 - DEAD_SUFFIX.length) + DEAD_SUFFIX;
}
