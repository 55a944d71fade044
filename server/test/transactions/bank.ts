/**
 * A bank as a service of its own, for tests: its accounts take part in transactions of others. Every step is in a journal
 * on disk before it is answered, so that it can be killed at any time. Started like Waypost: `--data FOLDER --port N`.
 *
 *   POST /transfers          {"account","amount","transaction"}: 201, Location of the transactional state
 *   GET, PUT /transfers/{id}/state
 *   GET  /books              everything: balances, and each transfer with all states it has been in
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  askTransaction,
  handleTransactionState,
  type ParticipantState,
  type TransactionalResource,
} from '../../../client/participant.ts';

export interface Transfer {
  readonly id: number;
  readonly account: number;
  readonly amount: number;
  readonly transaction: string;
  /** In order; the first is missing: it has no name. */
  readonly states: ParticipantState[];
}

export interface Books {
  readonly balances: number[];
  readonly transfers: Transfer[];
}

export const ACCOUNTS = 8;
export const OPENING = 100;
/** One that is prepared and hears nothing for this long asks its transaction. */
const DOUBT_AFTER = 3000;

function openBank(folder: string) {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'journal');
  const journal = openSync(path, 'a');
  const transfers = new Map<number, Transfer & { changed: number }>();
  type Entry = { id: number; state?: ParticipantState } & Partial<Transfer>;

  function apply({ id, state, account = 0, amount = 0, transaction = '' }: Entry): void {
    const known = transfers.get(id);
    if (known === undefined) transfers.set(id, { id, account, amount, transaction, states: [], changed: Date.now() });
    else if (state !== undefined) {
      known.states.push(state);
      known.changed = Date.now();
    }
  }

  // A line that was cut off by a kill was never answered.
  for (const line of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
    try {
      apply(JSON.parse(line) as Entry);
    } catch {
      // Part of a line, to which a later start has added a line break.
    }
  }
  writeSync(journal, '\n');

  function write(entry: Entry): void {
    writeSync(journal, `${JSON.stringify(entry)}\n`);
    fsyncSync(journal);
    apply(entry);
  }

  const stateOf = ({ states }: Transfer): ParticipantState | undefined => states.at(-1);
  const all = (): Transfer[] => [...transfers.values()];
  const balance = (account: number): number =>
    all()
      .filter((each) => each.account === account && stateOf(each) === 'committed')
      .reduce((sum, { amount }) => sum + amount, OPENING);
  /** What prepared transfers may still take. */
  const promised = (account: number): number =>
    all()
      .filter((each) => each.account === account && stateOf(each) === 'prepared' && each.amount < 0)
      .reduce((sum, { amount }) => sum + amount, 0);

  return {
    open(account: number, amount: number, transaction: string): number {
      const id = transfers.size + 1;
      write({ id, account, amount, transaction });
      return id;
    },
    resource(id: number): TransactionalResource | undefined {
      const transfer = transfers.get(id);
      if (transfer === undefined) return undefined;
      const { account, amount } = transfer;
      return {
        state: async () => stateOf(transfer),
        async prepare() {
          if (amount < 0 && balance(account) + promised(account) + amount < 0) return false;
          write({ id, state: 'prepared' });
          return true;
        },
        commit: async () => write({ id, state: 'committed' }),
        rollBack: async () => write({ id, state: 'rolled-back' }),
      };
    },
    inDoubt: () =>
      [...transfers.values()].filter((each) => stateOf(each) === 'prepared' && Date.now() - each.changed > DOUBT_AFTER),
    books: (): Books => ({
      balances: Array.from({ length: ACCOUNTS }, (_, account) => balance(account)),
      transfers: all(),
    }),
    close: () => closeSync(journal),
  };
}

type Bank = ReturnType<typeof openBank>;

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function answer(bank: Bank, incoming: IncomingMessage): Promise<Response> {
  const { method = 'GET', url = '/', headers } = incoming;
  const body = await bodyOf(incoming);
  if (url === '/books') return Response.json(bank.books());
  if (url === '/transfers' && method === 'POST') {
    const { account, amount, transaction } = JSON.parse(body) as Transfer;
    const id = bank.open(account, amount, transaction);
    const location = `http://${headers.host}/transfers/${id}/state`;
    return new Response(null, { status: 201, headers: { Location: location } });
  }
  const resource = bank.resource(Number(/^\/transfers\/(\d+)\/state$/.exec(url)?.[1]));
  if (resource === undefined) return new Response(null, { status: 404 });
  const request = new Request(`http://bank${url}`, { method, ...(body === '' ? {} : { body }) });
  return handleTransactionState(request, resource);
}

function serve(folder: string, port: number): void {
  const bank = openBank(folder);
  const server = createServer((incoming, outgoing) => {
    answer(bank, incoming).then(
      async (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers));
        outgoing.end(Buffer.from(await response.arrayBuffer()));
      },
      () => outgoing.writeHead(500).end(),
    );
  });
  server.listen(port, '127.0.0.1', () => {
    console.log(`Waypost is listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  setInterval(async () => {
    for (const { id, transaction } of bank.inDoubt()) {
      const advice = await askTransaction(transaction);
      const resource = bank.resource(id);
      // While it asked, the manager may have come.
      if ((await resource?.state()) !== 'prepared') continue;
      if (advice === 'commit') await resource?.commit();
      if (advice === 'roll back') await resource?.rollBack();
    }
  }, 1000);
  process.on('SIGTERM', () => process.exit(0));
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { data: { type: 'string' }, port: { type: 'string' }, 'log-level': { type: 'string' } },
  });
  serve(values.data ?? '.', Number(values.port ?? 0));
}
