/** Clients that transfer money between two banks, each transfer in a transaction, while everything is being killed. */

import type { CrashNode } from '../../../testing/crash/node.ts';
import type { Random } from '../../../testing/crash/random.ts';
import { type Answer, request } from '../../../testing/http.ts';
import { ACCOUNTS } from './bank.ts';

export interface Attempt {
  readonly transaction: string;
  /** What the client was told of its end, if anything. */
  told?: 'committed' | 'rolled-back';
}

export interface TransferOptions {
  readonly managers: readonly CrashNode[];
  readonly banks: readonly CrashNode[];
  readonly random: Random;
  /** The queue that gets a message of each transfer, in the same transaction. */
  readonly ledger: string;
}

const TX = 'application/tx+xml';
const PATIENCE = 20_000;

/** Makes one transfer; undefined when it could not even begin. */
export async function transfer(options: TransferOptions): Promise<Attempt | undefined> {
  const { managers, banks, random, ledger } = options;
  const manager = random.pick(managers.filter(({ up }) => up));
  const post = (url: string, type: string, body: string, link?: string): Promise<Answer> => {
    const headers = { 'content-type': type, ...(link === undefined ? {} : { link: `<${link}>; rel="transaction"` }) };
    return request(url, { method: 'POST', headers, body, timeout: PATIENCE });
  };
  let attempt: Attempt | undefined;
  try {
    const created = await post(`${manager.url}/transaction-manager`, TX, '<transaction timeout="PT6S"/>');
    const transaction = created.headers.location;
    if (created.status !== 200 || transaction === undefined) return undefined;
    attempt = { transaction: new URL(transaction).pathname };
    const amount = 1 + random.below(15);
    const legs = [-amount, amount].map(async (signed, index) => {
      const body = JSON.stringify({ account: random.below(ACCOUNTS), amount: signed, transaction });
      const opened = await post(`${banks[index]?.url}/transfers`, 'application/json', body);
      return opened.headers.location ?? '';
    });
    const states = await Promise.all(legs);
    const registered = await post(created.link('participants'), 'text/uri-list', states.join('\n'));
    const noted = await post(`${manager.url}/queues/${ledger}`, 'text/plain', attempt.transaction, transaction);
    if (registered.status !== 201 || noted.status !== 204) return attempt;
    // Any node takes the commit.
    const other = random.pick(managers);
    const end = random.below(10) === 0 ? 'rolled-back' : 'committed';
    const ended = await post(`${other.url}${attempt.transaction}`, TX, `<transaction state="${end}"/>`);
    if (ended.status === 200) attempt.told = end;
    else if (ended.status === 409 && end === 'committed') attempt.told = 'rolled-back';
  } catch {
    // A kill cut it off: nobody was told anything.
  }
  return attempt;
}
