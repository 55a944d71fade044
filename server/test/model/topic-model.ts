/**
 * A topic in small: what the service promises of one (A4, A11, A17), without a database. A position is the number of
 * messages that had appeared before: `next` at position n gives the first readable message behind the n-th.
 */
import { byDueTime, type Draft, isOver, later } from './letter.ts';

/** A message of a topic. */
export interface Issue {
  readonly topic: TopicModel;
  readonly draft: Draft;
  readonly expires: number | null;
  /** When it appears; null: it has appeared. */
  due: number | null;
  id: number | undefined;
  /** A17: given when it appears, never again to another message. */
  position: number | undefined;
  /** When it appeared: retention counts from here. */
  since: number;
}

/** A3, in seconds. */
export interface TopicSettings {
  ttl?: number;
  retention?: number;
  'max-length'?: number;
}

export type TopicModel = ReturnType<typeof createTopicModel>;

const RETENTION = 7 * 86_400;
/** How long a message that expired before it appeared can still be looked at. */
const EXPIRED_KEPT = 3600;

export function createTopicModel(name: string, now: () => number) {
  let issues: Issue[] = [];
  let settings: TopicSettings = {};
  let last = 0;
  /** Those that never appeared, and until when they can still be looked at. */
  const forgotten = new Map<Issue, number>();

  function appear(issue: Issue): void {
    issue.due = null;
    issue.position = ++last;
    issue.since = now();
  }

  const hasAppeared = ({ position }: Issue): boolean => position !== undefined;
  /** A4: what has outlived its ttl is not shown. */
  const readable = (): Issue[] =>
    issues
      .filter((issue) => hasAppeared(issue) && !isOver(issue.expires, now()))
      .sort((a, b) => (a.position ?? 0) - (b.position ?? 0));
  /** A delayed message whose life ends before it appears never does. */
  const isStillborn = (issue: Issue): boolean => !hasAppeared(issue) && isOver(issue.expires, now());

  const topic = {
    name,
    change(changed: TopicSettings): void {
      settings = changed;
    },
    /** A13: all or nothing. Undefined: the topic is full, counting what is still to appear. */
    post(drafts: readonly Draft[]): Issue[] | undefined {
      const length = issues.filter((issue) => !forgotten.has(issue)).length + drafts.length;
      if (length > (settings['max-length'] ?? Number.POSITIVE_INFINITY)) return undefined;
      return drafts.map((draft) => {
        const { delay = 0, ttl = settings.ttl } = draft;
        const expires = ttl === undefined ? null : later(now(), ttl);
        const due = delay > 0 ? later(now(), delay) : null;
        const issue: Issue = { topic, draft, expires, due, id: undefined, position: undefined, since: now() };
        issues.push(issue);
        if (due === null) appear(issue);
        return issue;
      });
    },

    /** The position behind the newest message: a `next` handed out now gives the first one posted later. */
    position: (): number => last,

    /** A17: in order, none twice, none left out. `gap`: messages that stood between can be read no longer. */
    next(position: number, max: number): { found: Issue[]; gap: boolean } {
      const found = readable()
        .filter((issue) => (issue.position ?? 0) > position)
        .slice(0, max);
      const [first] = found;
      return { found, gap: first?.position !== undefined && first.position > position + 1 };
    },
    first: (): Issue | undefined => readable()[0],
    last: (): Issue | undefined => readable().at(-1),

    /** The step of the redelivery duty: delayed messages appear, at the end. */
    redeliver(): void {
      for (const issue of issues.filter(isStillborn)) {
        if (!forgotten.has(issue)) forgotten.set(issue, later(now(), EXPIRED_KEPT));
      }
      const appearing = issues.filter(({ due }) => isOver(due, now())).filter((issue) => !isStillborn(issue));
      for (const issue of appearing.sort(byDueTime)) appear(issue);
    },

    /** The step of the prune duty. */
    prune(): void {
      const retention = settings.retention ?? RETENTION;
      issues = issues.filter((issue) =>
        hasAppeared(issue) ? later(issue.since, retention) > now() : (forgotten.get(issue) ?? Infinity) > now(),
      );
    },

    /** A5: what is not persistent may be lost with the process. */
    loseVolatile(): void {
      issues = issues.filter(({ draft }) => !draft.volatile);
    },

    /** A11: the state as clients see it. */
    stateOf(issue: Issue): string {
      if (!issues.includes(issue)) return 'gone';
      if (isOver(issue.expires, now())) return 'expired';
      return issue.due === null || isOver(issue.due, now()) ? 'available' : 'delayed';
    },
    /** A2. */
    counts: (): { retained: number } => ({ retained: issues.filter(hasAppeared).length }),
    /** How much is remembered. */
    kept: (): { messages: number; ids: number } => ({ messages: issues.length, ids: 0 }),
  };
  return topic;
}
