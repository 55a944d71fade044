/** A participant somewhere on the network, as small as it can be. It records every step it takes. */
import type { Order, Reply } from '../../src/transactions/protocol.ts';

export type Behaviour = 'ordinary' | 'refuses' | 'read-only' | 'forgetful';

export interface ModelParticipant {
  readonly uri: string;
  readonly behaviour: Behaviour;
  state: '' | 'prepared' | 'committed' | 'rolled-back' | 'refused' | 'read-only';
  /** Every state it has been in, in order. */
  readonly trace: string[];
  receive(order: Order): Reply;
  look(): Reply;
}

/** `forgetful` ones would prepare again after a rollback: it takes the manager's care that none does. */
export function modelParticipant(uri: string, behaviour: Behaviour): ModelParticipant {
  const participant: ModelParticipant = {
    uri,
    behaviour,
    state: '',
    trace: [],
    look: () => (participant.state === '' ? { status: 200 } : { status: 200, state: participant.state }),
    receive(order) {
      if (order === 'prepared') return prepare();
      if (participant.state === order) return { status: 200, state: order };
      if (order === 'committed' && participant.state !== 'prepared') return { status: 409 };
      if (order === 'rolled-back' && participant.state === 'committed') return { status: 409 };
      enter(order);
      return { status: 204 };
    },
  };

  function prepare(): Reply {
    if (behaviour === 'refuses') {
      if (participant.state === '') enter('refused');
      return { status: 409 };
    }
    if (behaviour === 'read-only') {
      if (participant.state === '') enter('read-only');
      return { status: 200, state: 'read-only' };
    }
    if (participant.state === 'prepared') return { status: 200, state: 'prepared' };
    const mayPrepare = participant.state === '' || (behaviour === 'forgetful' && participant.state === 'rolled-back');
    if (!mayPrepare) return { status: 409 };
    enter('prepared');
    return { status: 204 };
  }

  function enter(state: ModelParticipant['state']): void {
    participant.state = state;
    participant.trace.push(state);
  }

  return participant;
}

/** The steps a resource manager may take in the two-phase commit of Gray and Lamport, a rollback before the vote included. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  '': ['prepared', 'rolled-back', 'refused', 'read-only'],
  prepared: ['committed', 'rolled-back'],
  // One that has dropped out by its vote may still be told that it is over.
  refused: ['rolled-back'],
  'read-only': ['rolled-back'],
  committed: [],
  'rolled-back': [],
};

/** What in a trace is no allowed step. A forgetful participant may prepare again, but must not be left so. */
export function forbiddenSteps({ trace, behaviour }: ModelParticipant): string[] {
  return trace.flatMap((state, index) => {
    const before = trace[index - 1] ?? '';
    if (ALLOWED[before]?.includes(state)) return [];
    if (behaviour === 'forgetful' && before === 'rolled-back' && state === 'prepared') return [];
    return [`${before || 'initial'} -> ${state}`];
  });
}
