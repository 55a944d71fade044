/**
 * Drives transactions. `drive` reads the log, asks the rules for the next step and does it, until nothing is to be done;
 * the first try, every retry and recovery after a crash are this same function.
 *
 * What is on disk before what: `preparing` and the participants before the first prepare (by whoever asks for the commit);
 * all votes of a round together with the decision that follows from them; all confirmations of a round together with the
 * end that follows from them. A crash in between loses answers, never orders: the participants are asked again.
 */
import type { Membership } from '../../nodes/membership.ts';
import type { Operator, Raiser } from '../../operator/operator.ts';
import type { Store, Tx } from '../../store/store.ts';
import {
  FRESHNESS,
  isRunning,
  type Meaning,
  meaningOfConfirmation,
  meaningOfLook,
  meaningOfLookBeforeVote,
  meaningOfVote,
  nextStep,
  noteAfter,
  type Order,
  PATIENCE,
  TRIES_BEFORE_NOTICE,
} from '../protocol.ts';
import {
  decideCommit,
  decideRollback,
  findTransaction,
  finishTransaction,
  lockTransaction,
  makeDue,
  markUnasked,
  noteParticipants,
  type ParticipantNote,
  participantsOf,
  stillPreparing,
} from '../queries/log.ts';
import type { Participant, Transaction } from '../transaction.ts';
import type { Notices } from './notices.ts';
import type { Participants } from './participants.ts';

export interface Coordinator {
  /** This node began the commit, and is to drive it: it alone sends prepares, and has sent none yet. */
  begun(id: number): void;
  /** Does everything that is due for a transaction that this node owns. Never rejects. */
  drive(id: number): Promise<void>;
  /** Whether this transaction is being driven. */
  isDriving(id: number): boolean;
  /** Looks whether what is being prepared here was rolled back elsewhere: the news of that may have been lost. */
  lookForOvertaken(): Promise<void>;
  /** Resolves when nothing is being driven. */
  settled(): Promise<void>;
  /** Breaks off what is under way and takes no further step; resolves when all is noted. */
  stop(): Promise<void>;
}

export interface CoordinatorOptions {
  readonly store: Store;
  readonly participants: Participants;
  readonly membership: Membership;
  readonly operator: Operator;
  readonly notices: Notices;
  /** Told when the transaction should be driven again. */
  readonly schedule: (id: number, at: number) => void;
  /** Whether that time is still to come. */
  readonly isScheduled: (id: number) => boolean;
  readonly monotonic: () => number;
  readonly onError: (error: unknown) => void;
}

/** When the outcome is clear, votes that are still out are waited for so long: one that is known need not be feared. */
const GRACE = 1000;
/** News takes much less than this; what lasts longer is looked after. */
const NEWS_PATIENCE = 500;
/** For the order that undoes a vote that came too late; if it fails, the participant asks its transaction. */
const UNDO_PATIENCE = 5000;

interface Loaded {
  readonly transaction: Transaction;
  readonly members: readonly Participant[];
}

/** A round of requests to the participants of one transaction. */
interface Round {
  readonly abort: AbortController;
  readonly order: Order;
  /** By the monotonic clock. */
  readonly begun: number;
  timer?: NodeJS.Timeout;
}

export function createCoordinator(options: CoordinatorOptions): Coordinator {
  const { store, participants, membership, operator, notices, schedule, isScheduled, monotonic, onError } = options;
  const driving = new Map<number, Promise<void>>();
  /** Asked for again while it was being driven. */
  const again = new Set<number>();
  const rounds = new Map<number, Round>();
  /** Begun here, and no prepare has left: the log counts all participants as asked, and only this node knows better. */
  const unsent = new Set<number>();
  let stopping = false;

  store.listen(({ changed, everything }) => {
    const touched = everything ? [...rounds.keys()] : (changed ?? []);
    for (const id of touched) {
      const order = rounds.get(id)?.order;
      // Someone, perhaps on another node, rolled back what is being prepared here.
      if (order === 'prepared') void hurryIfDecided(id);
      // What is rolled back here was being prepared elsewhere, and now it is known how that went.
      else if (order !== 'committed' && (driving.has(id) || isScheduled(id))) void drive(id);
    }
  });

  async function hurryIfDecided(id: number): Promise<void> {
    const round = rounds.get(id);
    try {
      const found = await store.read((tx) => findTransaction(tx, id));
      if (round !== undefined && found?.state !== 'preparing') hurry(round);
    } catch {
      // The round ends by itself in bounded time.
    }
  }

  async function lookForOvertaken(): Promise<void> {
    const before = monotonic() - NEWS_PATIENCE;
    const waiting = [...rounds].filter(
      ([, { order, timer, begun }]) => order === 'prepared' && timer === undefined && begun <= before,
    );
    if (waiting.length === 0) return;
    const ids = waiting.map(([id]) => id);
    const preparing = new Set(await store.read((tx) => stillPreparing(tx, ids)));
    for (const [id, round] of waiting) if (!preparing.has(id)) hurry(round);
  }

  function hurry(round: Round): void {
    round.timer ??= setTimeout(() => round.abort.abort(), GRACE);
  }

  async function load(tx: Tx, id: number): Promise<Loaded | undefined> {
    const transaction = await findTransaction(tx, id);
    return transaction && { transaction, members: await participantsOf(tx, id) };
  }

  /** True when there is more to do at once. */
  async function takeStep(id: number): Promise<boolean> {
    const readAt = monotonic();
    const loaded = await store.read((tx) => load(tx, id));
    if (loaded?.transaction.state !== 'preparing' && unsent.has(id)) return noteUnasked(id);
    if (loaded === undefined) return false;
    const { transaction, members } = loaded;
    if (!isRunning(transaction.state) || transaction.owner !== membership.id) return false;
    const step = nextStep(transaction, members, store.now());
    switch (step.do) {
      case 'decide':
      case 'finish':
        return record(transaction, []);
      case 'wait':
        if (Number.isFinite(step.until)) schedule(id, step.until);
        return false;
      case 'order':
        return giveOrders(transaction, step.order, step.to as readonly Participant[], readAt);
    }
  }

  /**
   * It was rolled back before the first prepare left. Whoever carries that out need not fear a late prepare: without this
   * note it would, and wait for the last straggler.
   */
  async function noteUnasked(id: number): Promise<boolean> {
    const wasNoted = await store.transaction(async (tx) => {
      const transaction = await lockTransaction(tx, id);
      return transaction?.state === 'rolling-back' && (await markUnasked(tx, id, store.now()));
    });
    unsent.delete(id);
    if (wasNoted) store.announce({ changed: [id] });
    return true;
  }

  /** Sends an order to everyone who is due, all at once, and notes what they said. */
  async function giveOrders(
    transaction: Transaction,
    order: Order,
    due: readonly Participant[],
    readAt: number,
  ): Promise<boolean> {
    // Only a prepare may follow its opposite, so only a prepare needs a living owner and a fresh look at the log.
    if (order === 'prepared' && !membership.isAlive) {
      schedule(transaction.id, store.now() + 500);
      return false;
    }
    if (order === 'prepared' && monotonic() - readAt > FRESHNESS) return true;
    const round: Round = { abort: new AbortController(), order, begun: monotonic() };
    rounds.set(transaction.id, round);
    unsent.delete(transaction.id);
    try {
      const notes = await Promise.all(due.map((participant) => ask(transaction, participant, order, round)));
      return await record(transaction, notes);
    } finally {
      clearTimeout(round.timer);
      rounds.delete(transaction.id);
    }
  }

  async function ask(
    transaction: Transaction,
    participant: Participant,
    order: Order,
    round: Round,
  ): Promise<ParticipantNote> {
    const { id } = transaction;
    const left = order === 'prepared' ? transaction.deadline - store.now() : PATIENCE;
    const call = { timeout: Math.min(PATIENCE, left), signal: round.abort.signal };
    // No prepare leaves after its deadline.
    let reply =
      left > 0 ? await participants.order(participant, id, order, call) : { status: 408, detail: 'no time was left' };
    const wasAnswered = reply.status !== 0;
    let meaning = order === 'prepared' ? meaningOfVote(reply) : meaningOfConfirmation(order, reply);
    if (meaning === 'look') {
      reply = await participants.look(participant, id, call);
      meaning = order === 'prepared' ? meaningOfLookBeforeVote(reply) : meaningOfLook(order, reply);
    }
    if (meaning === 'refused') hurry(round);
    const understood = meaning as Exclude<Meaning, 'look'>;
    return {
      id: participant.id,
      from: participant.state,
      ...noteAfter(participant, transaction, order, understood, wasAnswered, store.now()),
      error: meaning === 'again' || meaning === 'refused' ? (reply.detail ?? 'no answer') : null,
    };
  }

  /**
   * Writes down what was said and, in the same commit, what follows from it: the decision or the end. True when there is
   * more to do at once.
   */
  async function record(asked: Transaction, notes: readonly ParticipantNote[]): Promise<boolean> {
    const { id } = asked;
    const troubled = asked.state === 'preparing' ? [] : notes.filter(isTroubling);
    let raiser = troubled.length > 0 ? await operator.raiser() : undefined;
    const write = (): Promise<Written & { isTaken: boolean }> =>
      store.transaction(async (tx) => {
        // The transaction first, then its participants: everyone locks in this order.
        const transaction = await lockTransaction(tx, id);
        const isTaken = transaction !== undefined && transaction.owner !== membership.id;
        const late = await noteParticipants(tx, id, isTaken ? notes.map(dueForOthers) : notes);
        const isStuck = troubled.some((note) => !late.has(note.id));
        return { ...(await advance(tx, asked.epoch, transaction, late, raiser, isStuck)), isTaken };
      });
    let written = await write();
    if (written.needsRaiser) {
      // A notice needs its topic, which is made sure of outside of the commit.
      raiser = await operator.raiser();
      written = await write();
    }
    if (raiser !== undefined) raiser.announce();
    if (written.changed || written.isTaken) store.announce({ changed: [id] });
    await undoLateVotes(asked, notes, written);
    return written.changed ? !written.isOver : true;
  }

  /** Another node took it meanwhile, and may have put off its next step for want of this answer: it is to look now. */
  const dueForOthers = (note: ParticipantNote): ParticipantNote =>
    note.state === 'prepared' ? { ...note, nextTry: store.now() } : note;

  const isTroubling = ({ nextTry, tries }: ParticipantNote): boolean =>
    nextTry !== null && tries === TRIES_BEFORE_NOTICE;

  interface Written {
    readonly changed: boolean;
    readonly isOver: boolean;
    readonly needsRaiser: boolean;
    readonly late: ReadonlySet<number>;
    readonly state: Transaction['state'] | undefined;
  }

  async function advance(
    tx: Tx,
    epoch: number,
    transaction: Transaction | undefined,
    late: ReadonlySet<number>,
    raiser: Raiser | undefined,
    isStuck: boolean,
  ): Promise<Written> {
    const outcome = { changed: false, isOver: false, needsRaiser: false, late, state: transaction?.state };
    if (transaction === undefined || !isRunning(transaction.state)) return outcome;
    // What follows in phase two is a function of the rows, so whoever was overtaken there says it all the same: the new
    // owner would have to hear of these answers first, and of a try that was not its own it never tells a person.
    const isOwn = transaction.owner === membership.id && transaction.epoch === epoch;
    if (transaction.state === 'preparing' && !isOwn) return outcome;
    const { id } = transaction;
    const members = await participantsOf(tx, id);
    const now = store.now();
    const step = nextStep(transaction, members, now);
    if (step.do === 'decide') {
      const decided =
        step.decision === 'committing'
          ? await decideCommit(tx, id, epoch, now)
          : await decideRollback(tx, id, membership.id, step.reason, now);
      if (decided) await makeDue(tx, id);
      return { ...outcome, changed: decided };
    }
    const isHeuristic = step.do === 'finish' && step.outcome.startsWith('heuristic');
    if ((isHeuristic || isStuck) && raiser === undefined) return { ...outcome, needsRaiser: true };
    const done = step.do === 'finish' && (await finishTransaction(tx, id, step.outcome, now));
    // Notices come last in a commit: from then on their topic is held.
    if (isStuck) await raiser?.raise(tx, notices.stuck(transaction, members));
    if (done && isHeuristic) await raiser?.raise(tx, notices.heuristic(id, members, step.outcome));
    return { ...outcome, changed: done, isOver: done };
  }

  /** One that voted yes after others had rolled back without it is told so: it must not stay prepared. */
  async function undoLateVotes(
    { id, state }: Transaction,
    notes: readonly ParticipantNote[],
    { late, state: present }: Written,
  ): Promise<void> {
    if (state !== 'preparing' || present === 'preparing' || present === 'committing' || present === 'committed') return;
    const voted = notes.filter((note) => note.state === 'prepared' && late.has(note.id));
    if (voted.length === 0) return;
    const members = await store.read((tx) => participantsOf(tx, id));
    const strays = members.filter((member) => !member.isLocal && voted.some((note) => note.id === member.id));
    await Promise.all(strays.map((stray) => participants.order(stray, id, 'rolled-back', { timeout: UNDO_PATIENCE })));
  }

  async function run(id: number): Promise<void> {
    try {
      do again.delete(id);
      while (((await takeStep(id)) || again.has(id)) && !stopping);
    } catch (error) {
      // The log could not be read or written. Nothing was sent that is not on it; try again soon.
      onError(error);
      schedule(id, store.now() + 1000);
    } finally {
      driving.delete(id);
    }
  }

  async function settled(): Promise<void> {
    await Promise.all(driving.values());
  }

  function drive(id: number): Promise<void> {
    const under = driving.get(id);
    if (under !== undefined) {
      again.add(id);
      return under;
    }
    if (stopping) return Promise.resolve();
    const started = run(id);
    driving.set(id, started);
    return started;
  }

  return {
    begun(id) {
      // Found in the log and driven before its commit was confirmed here: a prepare may have left.
      if (!driving.has(id)) unsent.add(id);
    },
    drive,
    isDriving: (id) => driving.has(id),
    lookForOvertaken,
    settled,
    stop() {
      stopping = true;
      for (const { abort } of rounds.values()) abort.abort();
      return settled();
    },
  };
}
