/**
 * One connection to PostgreSQL that carries one statement at a time and makes itself anew when it is lost.
 *
 * The library's own pool is not used. It sends what waits for a lost connection on the next one, which would run the
 * rest of a transaction outside of it, and it may keep requests waiting while the server is down. Here each lost
 * connection ends the `life` of the link: whoever began something in an earlier life is told so.
 */
import postgres from 'postgres';
import { Problem } from '../../problems.ts';
import type { Row, SqlValue } from '../store.ts';
import { asProblem, connectionLost, losesConnection, tooSlow } from './errors.ts';
import { types } from './types.ts';

/** While the server is away a request fails after this long at the latest. */
const CONNECT_DEADLINE = 2_000;
/** The server's own timeout comes first; this one is for a server, or a network, that has fallen silent. */
const SILENCE_MARGIN = 2_000;

export interface LinkSettings {
  /** Ends a statement that runs longer, in milliseconds; 0: never. */
  readonly statementTimeout: number;
  /** Settings of the session. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly onNotify?: (payload: string) => void;
  readonly onLost?: () => void;
}

export interface Answer {
  readonly rows: Row[];
  /** How many rows the statement changed or gave. */
  readonly count: number;
  /** The command as the server names it: a COMMIT that could not be is answered by ROLLBACK. */
  readonly command: string;
}

export interface Statement {
  readonly text: string;
  readonly values?: readonly SqlValue[];
}

export interface Link {
  /** Grows each time the connection is lost. */
  readonly life: number;
  /** Whether the last attempt to connect failed. */
  readonly unreachable: boolean;
  /** Statements wait for one another. With `life`: only on the connection of that life. */
  query(text: string, values?: readonly SqlValue[], life?: number): Promise<Answer>;
  /** Sends statements in one go, none waiting for the answer of another, and gives the answer of the last. */
  together(statements: readonly Statement[], life?: number): Promise<Answer>;
  /** Gives the connection up; the next statement makes a new one. */
  drop(): void;
  close(): Promise<void>;
}

export function createLink(url: string, settings: LinkSettings): Link {
  const { statementTimeout, onNotify, onLost } = settings;
  let connection: postgres.Sql | undefined;
  let connected = false;
  let unreachable = false;
  let life = 0;
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();
  /** Ends the wait for the statement under way. The library does not always do so when its connection is lost. */
  let abandon: ((error: unknown) => void) | undefined;

  function open(): postgres.Sql {
    const made: postgres.Sql = postgres(url, {
      max: 1,
      types,
      fetch_types: false,
      // A connection is replaced when it breaks, never in the middle of a transaction because of its age.
      max_lifetime: null,
      idle_timeout: 0,
      connect_timeout: CONNECT_DEADLINE / 1000,
      onnotice: () => {},
      ...(onNotify === undefined ? {} : { onnotify: (_channel: string, payload: string) => onNotify(payload) }),
      onclose: () => lose(made),
      connection: {
        application_name: 'waypost',
        statement_timeout: String(statementTimeout),
        idle_in_transaction_session_timeout: '10000',
        // Pinned plans look expensive to the server; compiling them would cost more than running them.
        jit: 'off',
        ...settings.parameters,
      } as Record<string, string>,
    } as postgres.Options<Record<string, postgres.PostgresType>>);
    return made;
  }

  function lose(which: postgres.Sql | undefined): void {
    if (which === undefined || which !== connection) return;
    connection = undefined;
    connected = false;
    life++;
    abandon?.(connectionLost());
    which.end({ timeout: 0 }).catch(() => {});
    onLost?.();
  }

  async function send(statements: readonly Statement[], deadline: number): Promise<Answer> {
    connection ??= open();
    const mine = connection;
    try {
      const { promise: lost, reject } = Promise.withResolvers<never>();
      abandon = reject;
      const sent = statements.map(({ text, values = [] }) => {
        const parameters = values as unknown as postgres.ParameterOrJSON<never>[];
        return mine.unsafe<Row[]>(text, [...parameters], { prepare: true });
      });
      const results = await within(Promise.race([Promise.all(sent), lost]), deadline);
      const result = results.at(-1);
      return { rows: Array.from(result ?? []), count: result?.count ?? 0, command: result?.command ?? '' };
    } catch (error) {
      // A problem at this place means that the deadline has passed.
      if (error instanceof Problem || losesConnection(error)) lose(mine);
      throw asProblem(error);
    } finally {
      abandon = undefined;
    }
  }

  async function connect(): Promise<void> {
    try {
      await send([{ text: 'SELECT 1' }], CONNECT_DEADLINE);
      connected = true;
      unreachable = false;
    } catch (error) {
      unreachable = true;
      lose(connection);
      throw error;
    }
  }

  async function run(statements: readonly Statement[], expected: number | undefined): Promise<Answer> {
    if (closed || (expected !== undefined && expected !== life)) throw connectionLost();
    if (!connected) await connect();
    return send(statements, statementTimeout === 0 ? 0 : statements.length * statementTimeout + SILENCE_MARGIN);
  }

  function together(statements: readonly Statement[], expected?: number): Promise<Answer> {
    const answer = last.then(() => run(statements, expected));
    last = answer.catch(() => {});
    return answer;
  }

  return {
    get life() {
      return life;
    },
    get unreachable() {
      return unreachable;
    },
    query: (text, values = [], expected) => together([{ text, values }], expected),
    together,
    drop() {
      lose(connection);
    },
    async close() {
      closed = true;
      const ending = connection;
      connection = undefined;
      abandon?.(connectionLost());
      await ending?.end({ timeout: 1 });
    },
  };
}

/** The outcome of a statement, or a problem when it takes longer than the deadline (0: none). */
function within<T>(statement: Promise<T>, deadline: number): Promise<T> {
  if (deadline === 0) return statement;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tooSlow(deadline)), deadline);
    statement.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
