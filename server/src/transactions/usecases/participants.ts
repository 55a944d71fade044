/** How participants are reached: those of this service in process, all others over HTTP, both by the same interface. */
import type { Outbound } from '../../http/outbound/outbound.ts';
import type { Order, ParticipantLog, Reply } from '../protocol.ts';
import { readStateDocument, STATE_TYPE, stateXml } from '../state-document.ts';

export interface Participants {
  /** Orders a state. Never rejects: without an answer the status is 0. */
  order(participant: ParticipantLog, transaction: number, order: Order, options: CallOptions): Promise<Reply>;
  /** Asks for the present state. */
  look(participant: ParticipantLog, transaction: number, options: CallOptions): Promise<Reply>;
}

export interface CallOptions {
  /** Milliseconds. */
  readonly timeout: number;
  readonly signal?: AbortSignal;
}

/** A participant of this service. It answers as it would over HTTP. */
export interface LocalParticipant {
  /** Whether the path is one of its. */
  matches(path: string): boolean;
  order(path: string, transaction: number, order: Order): Promise<Reply>;
  look(path: string, transaction: number): Promise<Reply>;
}

export function createParticipants(locals: readonly LocalParticipant[], outbound: Outbound): Participants {
  const localFor = (uri: string): LocalParticipant | undefined => locals.find((local) => local.matches(uri));

  async function call(
    method: 'GET' | 'PUT',
    url: string,
    { timeout, signal }: CallOptions,
    body?: string,
  ): Promise<Reply> {
    try {
      const answer = await outbound.send({
        method,
        url,
        headers: [['Accept', STATE_TYPE], ...(body === undefined ? [] : [['Content-Type', STATE_TYPE] as const])],
        timeout,
        ...(body === undefined ? {} : { body }),
        mayCut: true,
        ...(signal === undefined ? {} : { signal }),
      });
      const state = readStateDocument(answer.headers['content-type'], answer.body);
      return { status: answer.status, ...(state === undefined ? {} : { state }), detail: `answered ${answer.status}` };
    } catch (error) {
      // No status: there was no answer. The reason is for the operator's eyes.
      return { status: 0, detail: (error as Error).message };
    }
  }

  /** One whose step could not be written has not answered. */
  async function inProcess(uri: string, act: (local: LocalParticipant) => Promise<Reply>): Promise<Reply> {
    const local = localFor(uri);
    if (local === undefined) return { status: 404, detail: 'there is nothing at this address' };
    try {
      return await act(local);
    } catch (error) {
      return { status: 0, detail: (error as Error).message };
    }
  }

  return {
    order({ uri, isLocal }, transaction, order, options) {
      if (!isLocal) return call('PUT', uri, options, stateXml(order));
      return inProcess(uri, (local) => local.order(uri, transaction, order));
    },
    look({ uri, isLocal }, transaction, options) {
      if (!isLocal) return call('GET', uri, options);
      return inProcess(uri, (local) => local.look(uri, transaction));
    },
  };
}
