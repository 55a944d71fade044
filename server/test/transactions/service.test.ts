/** Transactions of running services: nodes that die, hundreds who want one seat, what is forgotten, how a node stops. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Answer, request } from '../../../testing/http.ts';
import { startParticipants, type TestParticipant, type TestParticipants } from '../../../testing/participants.ts';
import { startWaypost, type WaypostProcess } from '../../../testing/waypost.ts';

const TX = 'application/tx+xml';
/** The promise is ten seconds; a machine that is busy with other tests adds to it. */
const PROMISED = 15_000;

const send = (url: string, type: string, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
  request(url, { method: 'POST', headers: { 'content-type': type, ...headers }, body });

/** Gives the path of a new transaction. */
async function begin({ url }: WaypostProcess, timeout = 'PT30S'): Promise<string> {
  const created = await send(`${url}/transaction-manager`, TX, `<transaction timeout="${timeout}"/>`);
  assert.equal(created.status, 200, created.text());
  return new URL(created.headers.location ?? '').pathname;
}

const register = ({ url }: WaypostProcess, path: string, uris: string[]): Promise<Answer> =>
  send(`${url}${path}/participants`, 'text/uri-list', uris.join('\n'));

const end = ({ url }: WaypostProcess, path: string, state: string, prefer = 'wait=60'): Promise<Answer> =>
  send(`${url}${path}`, TX, `<transaction state="${state}"/>`, { prefer });

async function stateOf({ url }: WaypostProcess, path: string): Promise<string> {
  const shown = await request(url + path, { headers: { accept: 'application/json' } });
  return shown.json<{ state: string }>().state;
}

forEachEngine('transactions of running services', (engine) => {
  const nodeCount = engine.name === 'postgresql' ? 2 : 1;
  const nodes: WaypostProcess[] = [];
  let args: string[] = [];
  let drop = async () => {};
  let remote: TestParticipants;
  const node = (turn: number): WaypostProcess => nodes[turn % nodes.length] as WaypostProcess;

  before(async () => {
    const database = await engine.database();
    drop = database.drop;
    args = [...database.args, '--keep-transactions', '5', '--log-level', 'error'];
    for (let n = 0; n < nodeCount; n++) nodes.push(await startWaypost({ args }));
    remote = await startParticipants();
  });
  after(async () => {
    await remote.close();
    for (const each of nodes) each.kill();
    await Promise.all(nodes.map(({ exited }) => exited));
    await drop();
  });

  test('hundreds race for one seat: one ticket', async () => {
    const racers = 200;
    const outcomes = await Promise.all(
      Array.from({ length: racers }, async (_, turn) => {
        const at = node(turn);
        const path = await begin(at, 'PT60S');
        const body = `<reservation><flight>X1</flight><date>2027-01-01</date><seat>1A</seat>
          <link rel="transaction" href="${at.url}${path}"/></reservation>`;
        const made = await send(`${at.url}/airline/reservations`, 'application/airline-rsv+xml', body);
        assert.equal(made.status, 200, made.text());
        const ended = await end(node(turn + 1), path, 'committed');
        const shown = await request(at.url + new URL(made.headers.location ?? '').pathname);
        return { status: ended.status, hasTicket: shown.links.some(({ rel }) => rel === 'ticket') };
      }),
    );
    assert.deepEqual(
      outcomes.filter(({ status }) => status === 200),
      [{ status: 200, hasTicket: true }],
    );
    assert.equal(outcomes.filter(({ hasTicket }) => hasTicket).length, 1);
    assert.deepEqual([...new Set(outcomes.map(({ status }) => status))].sort(), [200, 409]);
  });

  test('messages and topics of many transactions at once: all of them, none twice, no deadlock', async () => {
    const paths = await Promise.all(Array.from({ length: 30 }, (_, turn) => begin(node(turn), 'PT60S')));
    await Promise.all(
      paths.map(async (path, turn) => {
        // Each posts to the same topics and queues, in another order.
        const places = ['/topics/a', '/topics/b', '/queues/c', '/queues/d'];
        const mine = turn % 2 === 0 ? places : places.toReversed();
        const { url } = node(turn);
        for (const place of mine) {
          const posted = await send(url + place, 'text/plain', path, { link: `<${url}${path}>; rel="transaction"` });
          assert.equal(posted.status, 204, posted.text());
        }
      }),
    );
    const ended = await Promise.all(
      paths.map((path, turn) => end(node(turn + 1), path, turn % 3 === 0 ? 'rolled-back' : 'committed')),
    );
    assert.deepEqual(new Set(ended.map(({ status }) => status)), new Set([200]));
    const kept = paths.filter((_, turn) => turn % 3 !== 0).sort();
    for (const queue of ['c', 'd']) {
      const received = await request(`${node(0).url}/queues/${queue}/receiving?max=100`, { method: 'POST' });
      const found = paths.filter((path) => received.text().includes(path)).sort();
      assert.deepEqual(found, kept, queue);
    }
    for (const topic of ['a', 'b']) {
      const shown = await request(`${node(0).url}/topics/${topic}`, { headers: { accept: 'application/json' } });
      assert.equal(shown.json<{ counts: { retained: number } }>().counts.retained, kept.length, topic);
    }
  });

  test('a finished transaction is forgotten after its time: 410, also for its participants, and at last 404', async () => {
    const one = remote.add();
    const path = await begin(node(0));
    assert.equal((await register(node(0), path, [one.uri])).status, 201);
    assert.equal((await end(node(0), path, 'committed')).status, 200);
    await eventually('it is forgotten', async () => (await request(node(0).url + path)).status === 410, 40_000);
    assert.equal((await end(node(0), path, 'committed')).status, 410);
    assert.equal((await register(node(0), path, [one.uri])).status, 410);
    await eventually('nobody knows of it', async () => (await request(node(0).url + path)).status === 404, 40_000);
  });

  /** A commit under way whose participant is deaf to this order. */
  async function leftWith(order: string): Promise<[string, TestParticipant]> {
    const one = remote.add();
    const owner = nodes.at(-1) as WaypostProcess;
    const path = await begin(owner);
    assert.equal((await register(owner, path, [one.uri])).status, 201);
    one.ignore(order);
    assert.equal((await end(owner, path, 'committed', 'respond-async')).status, 202);
    return [path, one];
  }

  test('a node that stops breaks off what hangs, and ends soon; the next one goes on', async () => {
    const slow = remote.add();
    slow.ignore('prepared');
    const owner = nodes.at(-1) as WaypostProcess;
    const undecided = await begin(owner);
    assert.equal((await register(owner, undecided, [slow.uri])).status, 201);
    const waiting = end(owner, undecided, 'committed');
    await eventually('it is asked', () => slow.seen.length > 0);
    const stopping = nodes.pop() as WaypostProcess;
    const began = performance.now();
    assert.equal(await stopping.stop(), 0);
    assert.ok(performance.now() - began < PROMISED, 'it took too long to stop');
    // Whoever waited for the commit is told that it goes on, or what became of it.
    assert.ok([202, 409, 503].includes((await waiting).status));
    slow.hearAgain();
    if (nodes.length === 0) nodes.push(await startWaypost({ args }));
    await eventually('it is told to roll back', () => slow.seen.includes('rolled-back'), PROMISED);
    assert.match(await stateOf(node(0), undecided), /^(rolling-back|rolled-back)$/);
    if (nodes.length < nodeCount) nodes.push(await startWaypost({ args }));
  });

  test('what a killed node left is finished by another within ten seconds', async () => {
    const [decided, deaf] = await leftWith('committed');
    const [undecided, slow] = await leftWith('prepared');
    await eventually('both are under way', () => deaf.seen.includes('committed') && slow.seen.includes('prepared'));
    const killed = nodes.pop() as WaypostProcess;
    killed.kill('SIGKILL');
    await killed.exited;
    const began = performance.now();
    deaf.hearAgain();
    slow.hearAgain();
    if (nodes.length === 0) nodes.push(await startWaypost({ args }));
    await eventually('the decision is carried out', async () => (await stateOf(node(0), decided)) === 'committed');
    await eventually('the other is rolled back', () => slow.state === 'rolled-back');
    assert.ok(performance.now() - began < PROMISED, 'it took too long');
    assert.equal(deaf.state, 'committed');
    assert.match(await stateOf(node(0), undecided), /^(rolling-back|rolled-back)$/);
  });
});
