/**
 * Helps a service to take part in Waypost's transactions. It speaks the protocol (application/tx-state+xml over GET and
 * PUT); the service says what preparing, committing and rolling back mean. Only fetch's Request and Response are used, so
 * it runs in Node, Deno, Bun and workers alike.
 */

export type ParticipantState = 'prepared' | 'committed' | 'rolled-back' | 'read-only';

/** What a service does for one resource that takes part. Each step must be durable when its promise resolves. */
export interface TransactionalResource {
  /** Undefined: nothing has happened yet. */
  state(): Promise<ParticipantState | undefined>;
  /** Checks and locks what is needed. `false` refuses; `read-only`: nothing changes, leave me out of the second phase. */
  prepare(): Promise<boolean | 'read-only'>;
  commit(): Promise<void>;
  /** Also called for a resource that was never prepared. Afterwards it must not prepare again. */
  rollBack(): Promise<void>;
}

const TYPE = 'application/tx-state+xml';

/** Answers one request of the transaction manager. Repeated orders are answered like the first and do nothing. */
export async function handleTransactionState(request: Request, resource: TransactionalResource): Promise<Response> {
  if (request.method === 'GET' || request.method === 'HEAD') return answer(200, await resource.state());
  if (request.method !== 'PUT') return new Response(null, { status: 405, headers: { Allow: 'GET, HEAD, PUT' } });
  const wanted = /<transactional-state[^>]*\sstate\s*=\s*["']([a-z-]+)["']/.exec(await request.text())?.[1];
  const present = await resource.state();
  if (wanted === present && present !== undefined) return answer(200, present);
  switch (wanted) {
    case 'prepared':
      return prepare(resource, present);
    case 'committed':
      if (present !== 'prepared') return answer(409, present);
      await resource.commit();
      return answer(200, 'committed');
    case 'rolled-back':
      if (present === 'committed') return answer(409, present);
      await resource.rollBack();
      return answer(200, 'rolled-back');
    default:
      return answer(422, present);
  }
}

async function prepare(resource: TransactionalResource, present: ParticipantState | undefined): Promise<Response> {
  // Rolled back is final: a prepare that comes late must not lock anything again.
  if (present === 'read-only') return answer(200, present);
  if (present !== undefined) return answer(409, present);
  const vote = await resource.prepare();
  if (vote === false) return answer(409, undefined);
  return answer(200, vote === 'read-only' ? 'read-only' : 'prepared');
}

function answer(status: number, state: ParticipantState | undefined): Response {
  const attribute = state === undefined ? '' : ` state="${state}"`;
  return new Response(`<transactional-state${attribute}/>`, { status, headers: { 'Content-Type': TYPE } });
}

/** What one that is prepared and hears nothing has to do: ask its transaction. */
export async function askTransaction(
  transaction: string,
  call: typeof fetch = fetch,
): Promise<'commit' | 'roll back' | 'wait'> {
  let response: Response;
  try {
    response = await call(transaction, { headers: { Accept: 'application/tx+xml' }, redirect: 'error' });
  } catch {
    return 'wait';
  }
  if (response.status === 404 || response.status === 410) return 'roll back';
  if (!response.ok) return 'wait';
  const state = /<transaction[^>]*\sstate\s*=\s*["']([a-z-]+)["']/.exec(await response.text())?.[1];
  if (state === 'committed' || state === 'committing') return 'commit';
  return state === 'rolled-back' || state === 'rolling-back' ? 'roll back' : 'wait';
}
