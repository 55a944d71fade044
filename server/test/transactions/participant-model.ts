/** A participant somewhere on the network, as small as it can be. It tells every step it takes. */
import type { Order, Reply } from '../../src/transactions/protocol.ts';
import type { Entered } from './trace.ts';

export type Behaviour = 'ordinary' | 'refuses' | 'read-only' | 'forgetful';

export interface ModelParticipant {
  readonly uri: string;
  readonly behaviour: Behaviour;
  readonly state: '' | 'prepared' | 'committed' | 'rolled-back' | 'refused' | 'read-only';
  receive(order: Order): Reply;
  look(): Reply;
}

/** `forgetful` ones would prepare again after a rollback: it takes the manager's care that none is left so. */
export function modelParticipant(uri: string, behaviour: Behaviour, trace: Entered[]): ModelParticipant {
  let present: ModelParticipant['state'] = '';

  function prepare(): Reply {
    if (behaviour === 'refuses') {
      if (present === '') enter('refused');
      return { status: 409 };
    }
    if (behaviour === 'read-only') {
      if (present === '') enter('read-only');
      return { status: 200, state: 'read-only' };
    }
    if (present === 'prepared') return { status: 200, state: 'prepared' };
    if (present !== '' && !(behaviour === 'forgetful' && present === 'rolled-back')) return { status: 409 };
    enter('prepared');
    return { status: 204 };
  }

  function enter(state: ModelParticipant['state']): void {
    present = state;
    trace.push({ who: uri, state });
  }

  return {
    uri,
    behaviour,
    get state() {
      return present;
    },
    look: () => (present === '' ? { status: 200 } : { status: 200, state: present }),
    receive(order) {
      if (order === 'prepared') return prepare();
      if (present === order) return { status: 200, state: order };
      if (order === 'committed' && present !== 'prepared') return { status: 409 };
      if (order === 'rolled-back' && present === 'committed') return { status: 409 };
      enter(order);
      return { status: 204 };
    },
  };
}
