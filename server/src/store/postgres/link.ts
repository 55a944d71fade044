/**
 * One connection to PostgreSQL that carries one statement at a time and makes itself anew when it is lost.
 *
 * Each lost connection ends the `life` of the link: whoever began something in an earlier life is told so, and the rest of
 * a transaction is never run outside of it. Nothing is ever sent twice.
 */
import type pg from 'pg';
import type { Row, SqlValue } from '../store.ts';
import { addressOf } from './address.ts';
import { type Connection, dial } from './dial.ts';
import { asProblem, connectionLost, losesConnection, tooSlow } from './errors.ts';
import { encoded, knownOf } from './statements.ts';

/** While the server is away a request fails after this long at the latest. */
const CONNECT_DEADLINE = 2_000;
/** The server's own timeout comes first; this one is for a server, or a network, that has fallen silent. */
const SILENCE_MARGIN = 2_000;
/** A connection that is closed may take this long to finish what is under way. */
const CLOSING_TIME = 1_000;

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
  /** The life in which it came. The link may have lost its connection since, even if nobody had the time to notice. */
  readonly life: number;
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

/** Statements that are sent in one go, and what has become of them. */
interface Job {
  readonly statements: readonly Statement[];
  readonly life: number | undefined;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** Statements without an answer. */
  pending: number;
  answer: Answer | undefined;
  /** The first error of a statement. */
  failure: unknown;
  deadline: NodeJS.Timeout | undefined;
}

export function createLink(url: string, settings: LinkSettings): Link {
  const { statementTimeout, onNotify, onLost } = settings;
  const address = addressOf(url);
  const parameters = {
    statement_timeout: String(statementTimeout),
    idle_in_transaction_session_timeout: '10000',
    bytea_output: 'hex',
    // Pinned plans look expensive to the server; compiling them would cost more than running them.
    jit: 'off',
    // Whatever the database is set to: a look at something must see what was committed before it, also inside a transaction.
    default_transaction_isolation: 'read committed',
    ...settings.parameters,
  };
  const waiting: Job[] = [];
  /** The job under way, for which the others wait. */
  let current: Job | undefined;
  let connection: Connection | undefined;
  /** Ends the attempt to connect. */
  let connecting: AbortController | undefined;
  let unreachable = false;
  let life = 0;
  let closed = false;

  /** Begins the next job when none is under way. */
  function proceed(): void {
    while (current === undefined) {
      const job = waiting.shift();
      if (job === undefined) return;
      if (closed || (job.life !== undefined && job.life !== life)) {
        job.reject(connectionLost());
        continue;
      }
      current = job;
      if (connection === undefined) void connectFor(job);
      else send(job, connection);
    }
  }

  function finish(job: Job, failure: unknown): void {
    clearTimeout(job.deadline);
    current = undefined;
    if (failure === undefined && job.answer !== undefined) job.resolve(job.answer);
    else job.reject(failure);
    proceed();
  }

  function lose(which: pg.Client | undefined, failure: unknown): void {
    if (which === undefined || which !== connection?.client) return;
    connection.socket.destroy();
    connection = undefined;
    endLife(failure);
  }

  function endLife(failure: unknown): void {
    life++;
    onLost?.();
    if (current !== undefined) finish(current, failure);
  }

  async function connectFor(job: Job): Promise<void> {
    const attempt = new AbortController();
    const { signal } = attempt;
    const timer = setTimeout(() => attempt.abort(tooSlow(CONNECT_DEADLINE)), CONNECT_DEADLINE);
    connecting = attempt;
    const lost = (which: pg.Client, error: Error): void => lose(which, connectionLost(error));
    try {
      // A host that says nothing leaves time for those after it.
      const patience = CONNECT_DEADLINE / address.hosts.length;
      const made = await dial({ address, parameters, onLost: lost, onNotify, signal, patience });
      // Given up at the last moment.
      if (signal.aborted) made.socket.destroy();
      signal.throwIfAborted();
      connection = made;
    } catch (error) {
      unreachable = true;
      stopWaiting();
      endLife(asProblem(error));
      return;
    }
    unreachable = false;
    stopWaiting();
    send(job, connection);

    function stopWaiting(): void {
      clearTimeout(timer);
      connecting = undefined;
    }
  }

  function send(job: Job, { client, socket }: Connection): void {
    const { statements } = job;
    let queries: pg.QueryConfig[];
    try {
      queries = statements.map(queryOf);
    } catch (error) {
      // A value that no statement takes: nothing has been sent.
      finish(job, error);
      return;
    }
    if (statementTimeout !== 0) {
      const deadline = statements.length * statementTimeout + SILENCE_MARGIN;
      job.deadline = setTimeout(() => lose(client, tooSlow(deadline)), deadline);
    }
    job.pending = queries.length;
    const answered = (error: Error | null, result: pg.QueryResult): void => receive(job, client, error, result);
    if (queries.length > 1) socket.cork();
    for (const query of queries) client.query(query, answered);
    if (queries.length > 1) socket.uncork();
  }

  function receive(job: Job, client: pg.Client, error: Error | null, result: pg.QueryResult): void {
    // The job may be over: what its connection had still to say came after it was lost.
    if (current !== job) return;
    if (error) {
      job.failure ??= asProblem(error);
      if (losesConnection(error)) {
        lose(client, job.failure);
        return;
      }
    } else {
      job.answer = { rows: result.rows, count: result.rowCount ?? 0, command: result.command, life };
    }
    if (--job.pending === 0) finish(job, job.failure);
  }

  function together(statements: readonly Statement[], expected?: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      waiting.push({
        statements,
        life: expected,
        resolve,
        reject,
        pending: 0,
        answer: undefined,
        failure: undefined,
        deadline: undefined,
      });
      proceed();
    });
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
      connecting?.abort(connectionLost());
      lose(connection?.client, connectionLost());
    },
    async close() {
      closed = true;
      connecting?.abort(connectionLost());
      const ending = connection;
      connection = undefined;
      if (ending === undefined) return;
      if (current !== undefined) finish(current, connectionLost());
      await end(ending);
    },
  };
}

function queryOf({ text, values = [] }: Statement): pg.QueryConfig {
  const { name, lists } = knownOf(text);
  return { name, text, values: encoded(values, lists) as unknown[] };
}

async function end({ client, socket }: Connection): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), CLOSING_TIME);
  await client.end();
  clearTimeout(timer);
}
