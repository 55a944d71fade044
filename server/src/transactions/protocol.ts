/**
 * Two-phase commit, as pure rules.
 *
 *                      commit asked                 all prepared: DECISION          all confirmed
 *     uncommitted ---------------------> preparing ------------------> committing ----------------> committed
 *          |                                 |                             |
 *          | rollback asked, timeout         | one refuses, timeout,       | a participant went the other way
 *          v                                 v rollback asked: DECISION    v
 *     rolling-back <-------------------------+                         heuristic-…
 *          |                                                               ^
 *          | all confirmed                     a participant committed     |
 *          v                                                               |
 *     rolled-back         rolling-back ------------------------------------+
 *
 * What is on disk before what is sent: the participants and `preparing` before the first prepare; the decision (one
 * conditional write of the state) before the first commit; each vote and confirmation before the next step that rests on
 * it. Without a decision on disk the answer is rollback (presumed abort). Orders of phase two are a function of the
 * transaction's row, so it does not matter who sends them or how often.
 *
 * The one order that may follow its opposite is a late prepare. It leaves only while its sender's reading of the log is
 * fresh, and no request lasts longer than `PATIENCE`; so all prepares have arrived some time after the decision, and a
 * participant that may have met one so late is told once more to roll back, then. Only the node that began the commit sends
 * prepares. When a rollback overtakes it, it notes what it knows (that none has left, or what was answered), so that
 * nobody waits for stragglers that cannot be.
 */

export type TransactionState =
  | 'uncommitted'
  | 'preparing'
  | 'committing'
  | 'committed'
  | 'rolling-back'
  | 'rolled-back'
  | 'heuristic-mixed'
  | 'heuristic-hazard'
  | 'heuristic-commit'
  | 'heuristic-rollback';

export const TRANSACTION_STATES = [
  'uncommitted',
  'preparing',
  'committing',
  'committed',
  'rolling-back',
  'rolled-back',
  'heuristic-mixed',
  'heuristic-hazard',
  'heuristic-commit',
  'heuristic-rollback',
] as const satisfies readonly TransactionState[];

/** What clients are told of a participant. `refused` and `read-only` are out of phase two. `hazard`: an operator said that nobody knows. */
export const PARTICIPANT_STATES = [
  'prepared',
  'read-only',
  'refused',
  'committed',
  'rolled-back',
  'heuristic-commit',
  'heuristic-rollback',
  'hazard',
] as const;

/**
 * What the log knows of a participant. Two states have no name in the interface: `registered`, and `asked`, when a prepare
 * may have been sent and no vote is known.
 */
export type ParticipantState = 'registered' | 'asked' | (typeof PARTICIPANT_STATES)[number];

export type Order = 'prepared' | 'committed' | 'rolled-back';

export interface ParticipantLog {
  readonly id: number;
  readonly uri: string;
  readonly state: ParticipantState;
  readonly tries: number;
  /** Not to be asked before this time; null: at once. */
  readonly nextTry: number | null;
  /** A prepare went out that was never answered: it may still arrive. */
  readonly mayStray: boolean;
  /** Of this service: its changes are fenced by the database, so no late prepare can follow a rollback. */
  readonly isLocal: boolean;
}

export interface TransactionLog {
  readonly state: TransactionState;
  /** Before the decision: until when. */
  readonly deadline: number;
  readonly decided: number | null;
}

/** Milliseconds a participant may take to answer one request. */
export const PATIENCE = 15_000;
/** A prepare leaves no later than this after the log that calls for it was read. */
export const FRESHNESS = 5000;
/** What has left may arrive this much later. */
export const STRAGGLER_MARGIN = 15_000;

/** From then on no prepare can arrive any more. None leaves after the deadline, nor long after the decision. */
const quietFrom = ({ deadline, decided }: TransactionLog): number =>
  Math.min(deadline, (decided ?? Number.POSITIVE_INFINITY) + FRESHNESS + PATIENCE) + STRAGGLER_MARGIN;

export const isRunning = (state: TransactionState): boolean =>
  state === 'preparing' || state === 'committing' || state === 'rolling-back';

export const isFinal = (state: TransactionState): boolean => state !== 'uncommitted' && !isRunning(state);

export type Step =
  | { readonly do: 'decide'; readonly decision: 'committing' }
  | { readonly do: 'decide'; readonly decision: 'rolling-back'; readonly reason: string }
  | { readonly do: 'finish'; readonly outcome: TransactionState }
  | { readonly do: 'order'; readonly order: Order; readonly to: readonly ParticipantLog[] }
  /** Nothing is due; `until` is when something will be. */
  | { readonly do: 'wait'; readonly until: number };

/** What is to be done next, from what is on disk. The first try and recovery both ask this. */
export function nextStep(transaction: TransactionLog, participants: readonly ParticipantLog[], now: number): Step {
  switch (transaction.state) {
    case 'preparing':
      return stepInPhaseOne(transaction, participants, now);
    case 'committing':
      return stepInPhaseTwo('committed', participants, now);
    case 'rolling-back':
      return stepInPhaseTwo('rolled-back', participants, now);
    default:
      return { do: 'wait', until: Number.POSITIVE_INFINITY };
  }
}

function stepInPhaseOne({ deadline }: TransactionLog, participants: readonly ParticipantLog[], now: number): Step {
  const refusing = participants.find(({ state }) => state === 'refused');
  if (refusing !== undefined) {
    return { do: 'decide', decision: 'rolling-back', reason: `${refusing.uri} refused to prepare` };
  }
  const open = participants.filter(({ state }) => state === 'registered' || state === 'asked');
  if (now >= deadline) {
    const reason = open[0] === undefined ? 'the timeout was over' : `no vote of ${open[0].uri} before the timeout`;
    return { do: 'decide', decision: 'rolling-back', reason };
  }
  if (open.length === 0) return { do: 'decide', decision: 'committing' };
  const step = dueOf('prepared', open, now);
  return step.do === 'wait' ? { do: 'wait', until: Math.min(step.until, deadline) } : step;
}

function stepInPhaseTwo(
  order: 'committed' | 'rolled-back',
  participants: readonly ParticipantLog[],
  now: number,
): Step {
  const open = participants.filter((participant) => isOutstanding(participant, order));
  if (open.length > 0) return dueOf(order, open, now);
  return { do: 'finish', outcome: outcomeOf(order, participants) };
}

/**
 * Commit goes to those who are prepared; rollback to everyone who has not refused or dropped out, and also to one that
 * refused while an earlier prepare is still on its way to it.
 */
function isOutstanding({ state, mayStray, isLocal }: ParticipantLog, order: 'committed' | 'rolled-back'): boolean {
  if (state === 'prepared') return true;
  if (order === 'committed') return false;
  return state === 'registered' || state === 'asked' || (state === 'refused' && mayStray && !isLocal);
}

function dueOf(order: Order, open: readonly ParticipantLog[], now: number): Extract<Step, { do: 'order' | 'wait' }> {
  const to = open.filter(({ nextTry }) => nextTry === null || nextTry <= now);
  if (to.length > 0) return { do: 'order', order, to };
  return { do: 'wait', until: Math.min(...open.map(({ nextTry }) => nextTry ?? now)) };
}

/** How it ended, when nobody is outstanding. */
function outcomeOf(order: 'committed' | 'rolled-back', participants: readonly ParticipantLog[]): TransactionState {
  const states = new Set(participants.map(({ state }) => state));
  if (states.has('hazard')) return 'heuristic-hazard';
  const opposite = order === 'committed' ? 'heuristic-rollback' : 'heuristic-commit';
  if (!states.has(opposite)) return order;
  return states.has(order) ? 'heuristic-mixed' : opposite;
}

/** An answer of a participant: a status (0: there was none) and the state its body names, if any. */
export interface Reply {
  readonly status: number;
  readonly state?: string;
  /** For the log. */
  readonly detail?: string;
}

/** What an answer means. `look`: ask for its state with GET. `again`: ask again later. */
export type Meaning = ParticipantState | 'look' | 'again';

/** B5: what an answer to prepare means. */
export function meaningOfVote(reply: Reply): Meaning {
  const { status, state } = reply;
  if (status === 200 || status === 204) {
    if (state === 'read-only') return 'read-only';
    return state === undefined || state === 'prepared' ? 'prepared' : 'look';
  }
  if (status === 409 || status === 404 || status === 410) return 'refused';
  return status === 412 ? 'look' : 'again';
}

/** What a look at a participant that was asked to prepare means. */
export function meaningOfLookBeforeVote(reply: Reply): Meaning {
  if (reply.status === 404 || reply.status === 410) return 'refused';
  if (reply.status !== 200) return 'again';
  switch (reply.state) {
    case 'prepared':
      return 'prepared';
    case 'read-only':
      return 'read-only';
    case 'rolled-back':
      return 'refused';
    // It went ahead by itself before anything was decided; phase two will find out.
    case 'committed':
      return 'prepared';
    default:
      return 'again';
  }
}

/** B6: what an answer to an order of phase two means. */
export function meaningOfConfirmation(order: 'committed' | 'rolled-back', reply: Reply): Meaning {
  const { status, state } = reply;
  if (status === 200 || status === 204) return state === undefined || state === order ? order : 'look';
  if (status === 410 || (status === 404 && order === 'rolled-back')) return order;
  return status === 409 || status === 412 ? 'look' : 'again';
}

/** What a look at a participant that did not confirm means. */
export function meaningOfLook(order: 'committed' | 'rolled-back', reply: Reply): Meaning {
  if (reply.status === 410 || (reply.status === 404 && order === 'rolled-back')) return order;
  if (reply.status !== 200) return 'again';
  if (reply.state === order) return order;
  if (reply.state === 'committed') return 'heuristic-commit';
  return reply.state === 'rolled-back' ? 'heuristic-rollback' : 'again';
}

/**
 * What is noted of a participant after an answer. A prepare that was not answered may still arrive: such a participant's
 * rollback is repeated when the last straggler must have arrived, and only then counts.
 */
export function noteAfter(
  participant: ParticipantLog,
  transaction: TransactionLog,
  order: Order,
  meaning: Exclude<Meaning, 'look'>,
  wasAnswered: boolean,
  now: number,
): Pick<ParticipantLog, 'state' | 'tries' | 'nextTry' | 'mayStray'> {
  const { state, isLocal } = participant;
  const tries = participant.tries + 1;
  const mayStray = participant.mayStray || (order === 'prepared' && !wasAnswered);
  if (meaning === 'again') return { state, tries, nextTry: now + pauseAfter(order, tries), mayStray };
  const quiet = quietFrom(transaction);
  // `asked` after a crash: nobody knows whether the prepare went out.
  if (meaning === 'rolled-back' && (mayStray || state === 'asked') && !isLocal && now < quiet) {
    return { state, tries: 0, nextTry: quiet, mayStray };
  }
  return { state: meaning, tries, nextTry: null, mayStray };
}

/** Waits between tries: 1 s doubling to 60 s in phase two; quicker in phase one, whose time is short. */
export function pauseAfter(order: Order, tries: number): number {
  const first = order === 'prepared' ? 200 : 1000;
  const most = order === 'prepared' ? 2000 : 60_000;
  return Math.min(most, first * 2 ** Math.min(tries - 1, 16));
}

/** From this many failed tries of phase two on, a person is told. */
export const TRIES_BEFORE_NOTICE = 3;
