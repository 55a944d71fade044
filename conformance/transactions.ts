/** What cases about transactions share: begin one, register, reserve, end it, look at it. */
import assert from 'node:assert/strict';
import type { Address, Answer } from './client.ts';
import type { World } from './world.ts';
import type { Element } from './xml.ts';
import { ATOM, escapeXml } from './xml.ts';

export const TX = 'application/tx+xml';
export const STATE = 'application/tx-state+xml';

export type Transaction = { address: Address; participants: Address };
export type Reservation = {
  address: Address;
  /** The transaction-state. */
  state: Address;
  answer: Answer;
};
export type ReservationKind = 'airline' | 'hotel';

export type Manager = {
  begin(timeout?: string): Promise<Transaction>;
  end(transaction: Transaction, state: 'committed' | 'rolled-back', headers?: Record<string, string>): Promise<Answer>;
  commit(transaction: Transaction, headers?: Record<string, string>): Promise<Answer>;
  look(transaction: Transaction): Promise<Element>;
  stateOf(transaction: Transaction): Promise<string>;
  /** Waits for its end and gives the state. */
  ended(transaction: Transaction): Promise<string>;
  register(transaction: Transaction, uris: string[], type?: string): Promise<Answer>;
  link(transaction: Transaction, field: string): Promise<Answer>;
  reserve(kind: ReservationKind, transaction: Transaction, elements: Record<string, string>): Promise<Reservation>;
  /** A node and the address of a resource as that node gives it out, for bodies and header fields. */
  on(address: Address): { base: string; href: string };
};

const FINAL = /^(committed|rolled-back|heuristic-.*)$/;

export function createManager(world: World): Manager {
  const { client } = world;
  let turn = 0;

  const on: Manager['on'] = (address) => {
    const base = client.bases[turn++ % client.bases.length] ?? assert.fail('no base');
    return { base, href: `${base}${address}` };
  };

  const manager: Manager = {
    on,
    async begin(timeout = '30000') {
      const body = `<transaction timeout="${timeout}"/>`;
      const at = await world.link('transaction-manager');
      const answer = (await client.post(at, { headers: { 'content-type': TX }, body })).expect(200);
      return {
        address: client.store(answer.headers.location ?? ''),
        participants: client.store(linkOf(answer.xml(), 'participants')),
      };
    },
    end: ({ address }, state, headers = {}) =>
      client.post(address, { headers: { 'content-type': TX, ...headers }, body: `<transaction state="${state}"/>` }),
    commit: (transaction, headers) => manager.end(transaction, 'committed', headers),
    look: async ({ address }) => (await client.get(address)).expect(200).xml(),
    stateOf: async (transaction) => (await manager.look(transaction)).attributes.state ?? '',
    async ended(transaction) {
      let state = '';
      await world.until(`${transaction.address} has ended`, async () => {
        state = await manager.stateOf(transaction);
        return FINAL.test(state);
      });
      return state;
    },
    register: ({ participants }, uris, type = 'text/uri-list') =>
      client.post(participants, { headers: { 'content-type': type }, body: `${uris.join('\r\n')}\r\n` }),
    link: ({ participants }, field) => client.send('LINK', participants, { headers: { link: field } }),
    async reserve(kind, { address }, elements) {
      const at = await world.link(`${kind}-reservations`);
      const { base, href } = on(address);
      const fields = Object.entries(elements).map(([name, text]) => `<${name}>${escapeXml(text)}</${name}>`);
      const link = `<link rel="transaction" type="${TX}" href="${href}"/>`;
      const answer = await client.post(`${base}${at}`, {
        headers: { 'content-type': `application/${kind}-rsv+xml` },
        body: `<reservation>${fields.join('')}${link}</reservation>`,
      });
      answer.expect(200);
      return {
        address: client.store(answer.headers.location ?? ''),
        state: client.store(linkOf(answer.xml(), 'transaction-state')),
        answer,
      };
    },
  };
  return manager;
}

export function linksOf(element: Element): { rel: string; href: string; type?: string }[] {
  return element.children
    .filter(({ name, namespace }) => name === 'link' && namespace === ATOM)
    .map(({ attributes }) => attributes as { rel: string; href: string; type?: string });
}

export function linkOf(element: Element, rel: string): string {
  const found = linksOf(element).find((link) => link.rel === rel);
  return found?.href ?? assert.fail(`no link "${rel}" in <${element.name}>`);
}

export const hasLink = (element: Element, rel: string): boolean => linksOf(element).some((link) => link.rel === rel);

/** A seat that no other case takes. */
export const flight = (world: World): Record<string, string> => ({
  date: '2027-03-01',
  flight: world.name('flight'),
  seat: '12A',
});
