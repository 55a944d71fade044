/**
 * Judges what the manager and the participants of one transaction did, step by step, by the two-phase commit of Gray and
 * Lamport ("Consensus on Transaction Commit", 2006): which steps each may take, and which of them may come only after a
 * step of the others. The names are Waypost's: `committing` and `rolling-back` are the manager's decisions.
 */

/** A step that was taken: `manager`, or the URI of a participant, entered a state. */
export interface Entered {
  readonly who: string;
  readonly state: string;
}

const MANAGER: Readonly<Record<string, readonly string[]>> = {
  '': ['uncommitted'],
  uncommitted: ['preparing', 'rolling-back'],
  preparing: ['committing', 'rolling-back'],
  committing: ['committed', 'heuristic-mixed', 'heuristic-hazard', 'heuristic-rollback'],
  'rolling-back': ['rolled-back', 'heuristic-mixed', 'heuristic-hazard', 'heuristic-commit'],
};

const PARTICIPANT: Readonly<Record<string, readonly string[]>> = {
  '': ['prepared', 'rolled-back', 'refused', 'read-only'],
  prepared: ['committed', 'rolled-back'],
  // One that has dropped out by its vote may still be told that it is over.
  refused: ['rolled-back'],
  'read-only': ['rolled-back'],
};

/** The steps in a row of states that are not allowed. */
function wrongSteps(who: string, states: readonly string[], allowed: typeof MANAGER): string[] {
  return states.flatMap((state, index) => {
    const before = states[index - 1] ?? '';
    return allowed[before]?.includes(state) ? [] : [`${who}: ${before || 'initial'} -> ${state}`];
  });
}

export interface TraceOptions {
  /** These would prepare again after a rollback, and are only asked not to be left so. */
  readonly forgetful?: ReadonlySet<string>;
  /** Those who take part, whether or not they took a step. */
  readonly participants: readonly string[];
}

/** Everything in a trace, in the order in which it happened, that the specification does not allow. */
export function violations(trace: readonly Entered[], { forgetful, participants }: TraceOptions): string[] {
  const found = stepsOf(trace, forgetful);
  const now = new Map<string, string>();
  let decision: string | undefined;
  for (const { who, state } of trace) {
    const before = now.get(who) ?? '';
    now.set(who, state);
    if (who === 'manager') {
      if (state === 'committing' || state === 'rolling-back') decision = state;
      const missing = participants.filter((each) => !['prepared', 'read-only'].includes(now.get(each) ?? ''));
      if (state === 'committing' && missing.length > 0) found.push(`decided to commit without ${missing.join(', ')}`);
    } else if (state === 'committed' && decision !== 'committing') found.push(`${who} committed before the decision`);
    else if (state === 'rolled-back' && before === 'prepared' && decision !== 'rolling-back') {
      found.push(`${who} was prepared and rolled back before the decision`);
    }
  }
  return [...found, ...contradictions(trace)];
}

/** What each did by itself: enough where nobody knows the order between them. */
export function stepsOf(trace: readonly Entered[], forgetful: ReadonlySet<string> = new Set()): string[] {
  const again = { ...PARTICIPANT, 'rolled-back': ['prepared'] };
  return [...Map.groupBy(trace, ({ who }) => who)].flatMap(([who, steps]) => {
    const allowed = who === 'manager' ? MANAGER : forgetful.has(who) ? again : PARTICIPANT;
    return wrongSteps(
      who,
      steps.map(({ state }) => state),
      allowed,
    );
  });
}

/** One that committed and another that aborted: the pair that must never exist (the specification's TCConsistent). */
export function contradictions(trace: readonly Entered[]): string[] {
  const who = (state: string): string[] => [
    ...new Set(trace.filter((each) => each.who !== 'manager' && each.state === state).map((each) => each.who)),
  ];
  const [committed, aborted] = [who('committed'), who('rolled-back')];
  if (committed.length === 0 || aborted.length === 0) return [];
  return [`${committed.join(', ')} committed, but ${aborted.join(', ')} rolled back`];
}
