/**
 * Drives transactions. `drive` reads the log, asks the rules for the next step and does it, until nothing is to be done;
 * the first try, every retry and recovery after a crash are this same function.
 */
import type { Action } from '../../operator/notice.ts';
import type { Operator } from '../../operator/operator.ts';
import type { Store } from '../../store/store.ts';
import {
  isRunning,
  type Meaning,
  meaningOfConfirmation,
  meaningOfLook,
  meaningOfLookBeforeVote,
  meaningOfVote,
  nextStep,
  noteAfter,
  type Order,
  type Step,
  TRIES_BEFORE_NOTICE,
  type TransactionState,
} from '../protocol.ts';
import {
  decideCommit,
  decideRollback,
  findTransaction,
  finishTransaction,
  makeDue,
  noteParticipant,
  type ParticipantNote,
  participantsOf,
} from '../queries/log.ts';
import type { Participant, Transaction } from '../transaction.ts';
import type { Membership } from './membership.ts';
import type { Participants } from './participants.ts';

export interface Coordinator {
  /** Does everything that is due for a transaction that this node owns. Never rejects. */
  drive(id: number): Promise<void>;
  /** Whether something is being driven. */
  readonly isBusy: boolean;
  /** Resolves when nothing is being driven. */
  settled(): Promise<void>;
}

export interface CoordinatorOptions {
  readonly store: Store;
  readonly participants: Participants;
  readonly membership: Membership;
  readonly operator: Operator;
  /** Paths for the notices. */
  readonly pathOf: (transaction: number) => string;
  readonly actionsFor: (transaction: number, participants: readonly Participant[]) => readonly Action[];
  /** Told when the transaction should be driven again. */
  readonly schedule: (id: number, at: number) => void;
  readonly onError: (error: unknown) => void;
}

/** How long a participant may take to answer one request. */
const PATIENCE = 15_000;

export function createCoordinator(options: CoordinatorOptions): Coordinator {
  const { store, participants, membership, operator, pathOf, actionsFor, schedule, onError } = options;
  const driving = new Map<number, Promise<void>>();
  /** Asked for again while it was being driven. */
  const again = new Set<number>();

  async function load(id: number): Promise<{ transaction: Transaction; members: Participant[] } | undefined> {
    return store.read(async (tx) => {
      const transaction = await findTransaction(tx, id);
      return transaction && { transaction, members: await participantsOf(tx, id) };
    });
  }

  /** True when there is more to do at once. */
  async function takeStep(id: number): Promise<boolean> {
    const loaded = await load(id);
    if (loaded === undefined) return false;
    const { transaction, members } = loaded;
    if (!isRunning(transaction.state) || transaction.owner !== membership.node) return false;
    const step = nextStep(transaction, members, store.now());
    switch (step.do) {
      case 'decide':
        await decide(transaction, step);
        return true;
      case 'finish':
        await finish(transaction, members, step.outcome);
        return false;
      case 'wait':
        if (Number.isFinite(step.until)) schedule(id, step.until);
        return false;
      case 'order':
        return giveOrders(transaction, step.order, step.to as readonly Participant[]);
    }
  }

  async function decide({ id, epoch }: Transaction, step: Extract<Step, { do: 'decide' }>): Promise<void> {
    await store.transaction(async (tx) => {
      const now = store.now();
      const decided =
        step.decision === 'committing'
          ? await decideCommit(tx, id, epoch, now)
          : await decideRollback(tx, id, membership.node, step.reason, now);
      if (decided) await makeDue(tx, id);
    });
    store.announce({ changed: [id] });
  }

  async function finish(
    { id }: Transaction,
    members: readonly Participant[],
    outcome: TransactionState,
  ): Promise<void> {
    const isHeuristic = outcome.startsWith('heuristic');
    const raiser = isHeuristic ? await operator.raiser() : undefined;
    const finished = await store.transaction(async (tx) => {
      const done = await finishTransaction(tx, id, outcome, store.now());
      if (done && raiser !== undefined) await raiser.raise(tx, heuristicNotice(id, members, outcome));
      return done;
    });
    if (!finished) return;
    raiser?.announce();
    store.announce({ changed: [id] });
  }

  function heuristicNotice(id: number, members: readonly Participant[], outcome: TransactionState) {
    const odd = members.filter(({ state }) => state.startsWith('heuristic') || state === 'hazard');
    return {
      kind: 'transaction.heuristic',
      subject: pathOf(id),
      title: `A transaction ended as ${outcome}`,
      detail: `Not all participants did what was decided: ${odd.map(({ uri, state }) => `${uri} is ${state}`).join(', ')}.`,
      actions: [],
    };
  }

  /** Sends an order to everyone who is due, all at once, and notes what they said. */
  async function giveOrders(transaction: Transaction, order: Order, due: readonly Participant[]): Promise<boolean> {
    // Only a prepare may follow its opposite, so only a prepare needs a living owner and time left.
    if (order === 'prepared' && !membership.isAlive) {
      schedule(transaction.id, store.now() + 500);
      return false;
    }
    const abort = new AbortController();
    const notes = await Promise.all(due.map((participant) => ask(transaction, participant, order, abort)));
    const troubled =
      order !== 'prepared' && notes.some(({ nextTry, tries }) => nextTry !== null && tries === TRIES_BEFORE_NOTICE);
    const raiser = troubled ? await operator.raiser() : undefined;
    await store.transaction(async (tx) => {
      for (const note of notes) await noteParticipant(tx, transaction.id, note);
      if (raiser !== undefined) await raiser.raise(tx, stuckNotice(transaction, order, due, notes));
    });
    raiser?.announce();
    return true;
  }

  function stuckNotice(
    { id }: Transaction,
    order: Order,
    due: readonly Participant[],
    notes: readonly ParticipantNote[],
  ) {
    const stuck = due.filter((_, index) => notes[index]?.nextTry !== null);
    const errors = due.flatMap(({ uri }, index) => {
      const note = notes[index];
      return note === undefined || note.nextTry === null ? [] : [`${uri}: ${note.error}`];
    });
    return {
      kind: 'transaction.stuck',
      subject: pathOf(id),
      title: 'A transaction cannot be finished',
      detail: `It is decided (${order}), but these participants have not confirmed: ${errors.join('; ')}. Waypost goes on trying.`,
      actions: actionsFor(id, stuck),
    };
  }

  async function ask(
    transaction: Transaction,
    participant: Participant,
    order: Order,
    abort: AbortController,
  ): Promise<ParticipantNote> {
    const { id } = transaction;
    const left = transaction.deadline - store.now();
    const timeout = order === 'prepared' ? Math.max(1, Math.min(PATIENCE, left)) : PATIENCE;
    const call = { timeout, signal: abort.signal };
    let reply = await participants.order(participant, id, order, call);
    const wasAnswered = reply.status !== 0;
    let meaning = order === 'prepared' ? meaningOfVote(reply) : meaningOfConfirmation(order, reply);
    if (meaning === 'look') {
      reply = await participants.look(participant, id, call);
      meaning = order === 'prepared' ? meaningOfLookBeforeVote(reply) : meaningOfLook(order, reply);
    }
    // One refusal decides: nobody waits for the other votes any longer.
    if (meaning === 'refused') abort.abort();
    const note = noteAfter(
      participant,
      transaction,
      order,
      meaning as Exclude<Meaning, 'look'>,
      wasAnswered,
      store.now(),
    );
    return {
      id: participant.id,
      ...note,
      error: meaning === 'again' || meaning === 'refused' ? (reply?.detail ?? 'no answer') : null,
    };
  }

  async function run(id: number): Promise<void> {
    try {
      do again.delete(id);
      while ((await takeStep(id)) || again.has(id));
    } catch (error) {
      // The log could not be read or written. Nothing was sent that is not on it; try again soon.
      onError(error);
      schedule(id, store.now() + 1000);
    } finally {
      driving.delete(id);
    }
  }

  return {
    drive(id) {
      const under = driving.get(id);
      if (under !== undefined) {
        again.add(id);
        return under;
      }
      const started = run(id);
      driving.set(id, started);
      return started;
    },
    get isBusy() {
      return driving.size > 0;
    },
    async settled() {
      await Promise.all(driving.values());
    },
  };
}
