/** Nodes on one store that tests move step by step, with clocks that they turn. */
import { randomUUID } from 'node:crypto';
import type { Engine } from '../../../testing/engines.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { createMember, type Member, type MemberOptions } from './membership.ts';

export interface Ground {
  readonly store: Store;
  /** The database's clock, and the one by which nodes measure. */
  readonly clock: { database: number; monotonic: number };
  /** Lets that many milliseconds go by, on both. */
  pass(milliseconds: number): void;
  /** A node at a place of its own, unless told otherwise. */
  node(options?: Partial<MemberOptions>): TestNode;
  close(): Promise<void>;
}

export interface TestNode {
  readonly member: Member;
  /** How often it was told that it had been held for dead, and that another was gone. */
  readonly told: { lost: number; gone: number };
  /** What the store does instead of what it is asked: nothing, or what it was asked without saying so. */
  trouble: 'away' | 'unconfirmed' | undefined;
}

export async function openGround({ database, name }: Engine): Promise<Ground> {
  const clock = { database: 1_800_000_000_000, monotonic: 1000 };
  const { options, drop } = await database();
  const location = {
    database: 'database' in options ? options.database : undefined,
    folder: 'data' in options ? options.data : '',
    reserveBytes: 0,
  };
  const opened = await openStore(location, () => {});
  const store: Store = { ...opened, now: () => clock.database };
  if (store.engine !== name) throw new Error(`this is not ${name}`);

  return {
    store,
    clock,
    pass(milliseconds) {
      clock.database += milliseconds;
      clock.monotonic += milliseconds;
    },
    node(more = {}) {
      const here = { name: randomUUID(), process: 1 };
      const troubled = async <T>(work: () => Promise<T>): Promise<T> => {
        if (node.trouble === 'away') throw new Error('the store is away');
        const result = await work();
        if (node.trouble === 'unconfirmed') throw new Error('the connection was lost');
        return result;
      };
      const member = createMember({
        store: {
          ...store,
          transaction: (job) => troubled(() => store.transaction(job)),
          read: (job) => troubled(() => store.read(job)),
        },
        place: () => here,
        isOtherRunning: () => true,
        isAlone: false,
        monotonic: () => clock.monotonic,
        ...more,
      });
      const told = { lost: 0, gone: 0 };
      member.onLost(() => told.lost++);
      member.onGone(() => told.gone++);
      const node: TestNode = { member, told, trouble: undefined };
      return node;
    },
    async close() {
      await store.close();
      await drop();
    },
  };
}
