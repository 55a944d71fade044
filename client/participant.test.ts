import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  askTransaction,
  handleTransactionState,
  type ParticipantState,
  type TransactionalResource,
} from './participant.ts';

function resource(vote: boolean | 'read-only' = true, state?: ParticipantState) {
  const steps: string[] = [];
  let present = state;
  const made: TransactionalResource = {
    state: async () => present,
    async prepare() {
      steps.push('prepare');
      if (vote !== false) present = vote === 'read-only' ? vote : 'prepared';
      return vote;
    },
    async commit() {
      steps.push('commit');
      present = 'committed';
    },
    async rollBack() {
      steps.push('rollBack');
      present = 'rolled-back';
    },
  };
  return { made, steps };
}

const ordered = (state: string): Request =>
  new Request('http://shop/state', {
    method: 'PUT',
    headers: { 'Content-Type': 'application/tx-state+xml' },
    body: `<?xml version="1.0"?>\n<transactional-state xmlns:a="urn:a" state='${state}'/>`,
  });

async function put(made: TransactionalResource, state: string): Promise<[number, string]> {
  const response = await handleTransactionState(ordered(state), made);
  assert.equal(response.headers.get('Content-Type'), 'application/tx-state+xml');
  return [response.status, /state="([a-z-]+)"/.exec(await response.text())?.[1] ?? ''];
}

describe('a participant with the helper', () => {
  it('prepares and commits, each once however often it is told', async () => {
    const { made, steps } = resource();
    assert.deepEqual(await put(made, 'prepared'), [200, 'prepared']);
    assert.deepEqual(await put(made, 'prepared'), [200, 'prepared']);
    assert.deepEqual(await put(made, 'committed'), [200, 'committed']);
    assert.deepEqual(await put(made, 'committed'), [200, 'committed']);
    assert.deepEqual(steps, ['prepare', 'commit']);
  });

  it('refuses when it cannot prepare', async () => {
    const { made } = resource(false);
    assert.deepEqual(await put(made, 'prepared'), [409, '']);
    assert.deepEqual(await put(made, 'rolled-back'), [200, 'rolled-back']);
  });

  it('drops out of the second phase as read-only, and says so again', async () => {
    const { made, steps } = resource('read-only');
    assert.deepEqual(await put(made, 'prepared'), [200, 'read-only']);
    assert.deepEqual(await put(made, 'prepared'), [200, 'read-only']);
    assert.deepEqual(steps, ['prepare']);
  });

  it('takes rolled back as final', async () => {
    const { made, steps } = resource();
    assert.deepEqual(await put(made, 'rolled-back'), [200, 'rolled-back']);
    assert.deepEqual(await put(made, 'prepared'), [409, 'rolled-back']);
    assert.deepEqual(await put(made, 'committed'), [409, 'rolled-back']);
    assert.deepEqual(steps, ['rollBack']);
  });

  it('does not commit what is not prepared, nor roll back what is committed', async () => {
    assert.deepEqual(await put(resource().made, 'committed'), [409, '']);
    assert.deepEqual(await put(resource(true, 'committed').made, 'rolled-back'), [409, 'committed']);
  });

  it('tells its state, and what it does not understand', async () => {
    const { made } = resource(true, 'prepared');
    const looked = await handleTransactionState(new Request('http://shop/state'), made);
    assert.match(await looked.text(), /state="prepared"/);
    assert.equal((await put(made, 'sold'))[0], 422);
    const deleted = await handleTransactionState(new Request('http://shop/state', { method: 'DELETE' }), made);
    assert.deepEqual([deleted.status, deleted.headers.get('Allow')], [405, 'GET, HEAD, PUT']);
  });
});

describe('asking a transaction', () => {
  const answering = (status: number, state?: string): typeof fetch => {
    const body = state === undefined ? '' : `<transaction timeout="1000" state="${state}"/>`;
    return async () => new Response(body, { status });
  };

  it('is advised by its state', async () => {
    for (const [state, advice] of [
      ['committed', 'commit'],
      ['committing', 'commit'],
      ['rolled-back', 'roll back'],
      ['rolling-back', 'roll back'],
      ['preparing', 'wait'],
      ['uncommitted', 'wait'],
      ['heuristic-mixed', 'wait'],
    ] as const) {
      assert.equal(await askTransaction('http://waypost/t', answering(200, state)), advice, state);
    }
  });

  it('rolls back when there is none any more, and waits when nobody knows', async () => {
    assert.equal(await askTransaction('http://waypost/t', answering(404)), 'roll back');
    assert.equal(await askTransaction('http://waypost/t', answering(410)), 'roll back');
    assert.equal(await askTransaction('http://waypost/t', answering(503)), 'wait');
    assert.equal(await askTransaction('http://waypost/t', answering(200)), 'wait');
    const unreachable: typeof fetch = () => Promise.reject(new Error('no network'));
    assert.equal(await askTransaction('http://waypost/t', unreachable), 'wait');
  });
});
