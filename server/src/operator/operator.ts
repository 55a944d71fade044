/** Use cases of operator notices: raise one, look at them, acknowledge one. */
import type { Page } from '../http/paging.ts';
import type { Sealer } from '../ids.ts';
import type { Events, Publisher } from '../messaging/usecases/events.ts';
import { Problem } from '../problems.ts';
import type { Store, Tx } from '../store/store.ts';
import type { NewNotice, Notice } from './notice.ts';
import { findNotice, findOpenNotice, insertNotice, listNotices, markAcknowledged } from './queries.ts';

export interface Operator {
  /** Gives what is needed to raise notices inside a transaction. Call it before the transaction. */
  raiser(): Promise<Raiser>;
  /** Raises a notice in a transaction of its own. */
  raise(notice: NewNotice): Promise<void>;
  list(page: Page, all: boolean): Promise<Notice[]>;
  /** Throws 404 when there is none. */
  get(publicId: string): Promise<Notice>;
  acknowledge(publicId: string, by: string | undefined, why: string | undefined): Promise<Notice>;
  publicId(notice: Pick<Notice, 'id'>): string;
}

export interface Raiser {
  /**
   * The last statements of a transaction, because it also posts to the topic. While a notice of the same kind about the
   * same subject is open, nothing is added: nobody wants to be told the same thing every minute.
   */
  raise(tx: Tx, notice: NewNotice): Promise<void>;
  /** Call it after the commit. */
  announce(): void;
}

export function createOperator(
  store: Store,
  events: Events,
  sealer: Sealer,
  pathOf: (publicId: string) => string,
): Operator {
  const publicId = ({ id }: Pick<Notice, 'id'>): string => sealer.seal(id);

  async function raiseIn(tx: Tx, publisher: Publisher, notice: NewNotice): Promise<void> {
    if ((await findOpenNotice(tx, notice.kind, notice.subject)) !== undefined) return;
    const id = store.nextId();
    await insertNotice(tx, id, store.now(), notice);
    const { kind, subject, title, detail } = notice;
    const data = { notice: pathOf(publicId({ id })), kind, subject, title, detail };
    await publisher.publish(tx, [{ type: `operator-notice.${kind}`, subject, data }]);
  }

  async function raiser(): Promise<Raiser> {
    const publisher = await events.publisher('operator-notices');
    return { raise: (tx, notice) => raiseIn(tx, publisher, notice), announce: publisher.announce };
  }

  async function get(word: string): Promise<Notice> {
    const id = sealer.open(word);
    const found = id === undefined ? undefined : await store.read((tx) => findNotice(tx, id));
    if (found !== undefined) return found;
    throw new Problem('not-found', 'there is no such notice');
  }

  return {
    raiser,
    publicId,
    get,
    async raise(notice) {
      const { raise, announce } = await raiser();
      await store.transaction((tx) => raise(tx, notice));
      announce();
    },
    list: (page, all) => store.read((tx) => listNotices(tx, page, all)),
    async acknowledge(word, by, why) {
      const { id } = await get(word);
      await store.transaction((tx) => markAcknowledged(tx, id, store.now(), by, why));
      return get(word);
    },
  };
}
