/** "Stored" is said after the disk has said so: seen in the system calls of a running service. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { request } from '../../testing/http.ts';
import { type SystemCall, traceCalls } from '../../testing/strace.ts';
import { startWaypost, type WaypostProcess } from '../../testing/waypost.ts';

let waypost: WaypostProcess;
before(async () => {
  waypost = await startWaypost();
  for (const path of ['/queues/traced', '/topics/traced']) await request(waypost.url + path, { method: 'PUT' });
  for (const body of ['to be received', 'to be deleted']) {
    await request(`${waypost.url}/queues/traced/messages/${body.replaceAll(' ', '-')}`, { method: 'PUT', body });
  }
});
after(() => waypost.stop());

/** What the service did between reading this request and writing its answer. */
function callsFor(calls: SystemCall[], method: string, path: string, status: number): SystemCall[] {
  const asked = calls.find(({ name, line }) => name.startsWith('re') && line.includes(`"${method} ${path} HTTP`));
  assert.ok(asked, `no ${method} ${path} in the trace`);
  const answered = calls.find(
    ({ name, line, began }) =>
      began > asked.ended && /^(write|send)/.test(name) && line.includes(`"HTTP/1.1 ${status} `),
  );
  assert.ok(answered, `no answer ${status} to ${method} ${path} in the trace`);
  return calls.filter(({ ended }) => ended > asked.ended && ended < answered.began);
}

const isSync = ({ name, target }: SystemCall): boolean => /^f(data)?sync$/.test(name) && /waypost\.db/.test(target);
const writesStore = ({ name, target }: SystemCall): boolean => /write/.test(name) && /waypost\.db/.test(target);

test('what changes the store is on the disk before it is answered', async () => {
  const operations: [method: string, path: string, status: number][] = [
    ['POST', '/queues/traced', 204],
    ['POST', '/queues/traced-and-new', 204],
    ['PUT', '/queues/traced/messages/chosen', 201],
    ['PUT', '/queues/traced/messages/chosen-too?persistent=false', 201],
    ['POST', '/topics/traced', 204],
    ['POST', '/queues/traced/receiving', 200],
    ['DELETE', '/queues/traced/messages/to-be-deleted', 204],
    ['PUT', '/queues/traced', 200],
    ['PUT', '/topics/traced-and-new', 201],
    ['DELETE', '/topics/traced-and-new', 204],
  ];
  const trace = await traceCalls(waypost.pid);
  for (const [method, path, status] of operations) {
    const isPost = path.includes('messages') || (method === 'POST' && !path.includes('receiving'));
    const body = isPost ? 'content' : '';
    const answer = await request(waypost.url + path, { method, body });
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text()}`);
  }
  const calls = await trace.stop();
  for (const [method, path, status] of operations) {
    const between = callsFor(calls, method, path, status);
    const lastWrite = between.findLastIndex(writesStore);
    const lastSync = between.findLastIndex(isSync);
    assert.notEqual(lastWrite, -1, `${method} ${path} wrote nothing`);
    assert.ok(lastSync > lastWrite, `${method} ${path} was answered before its write was synced`);
  }
});

test('a volatile message and a look cost no write', async () => {
  const rounds = Array.from({ length: 20 }, (_, round) => round);
  const trace = await traceCalls(waypost.pid);
  for (const round of rounds) {
    const path = `/queues/traced?persistent=false&round=${round}`;
    assert.equal((await request(waypost.url + path, { method: 'POST', body: 'light' })).status, 204);
    assert.equal((await request(`${waypost.url}/queues/traced/receiving?round=${round}`)).status, 200);
  }
  const calls = await trace.stop();
  const windows = rounds.flatMap((round) => [
    callsFor(calls, 'POST', `/queues/traced?persistent=false&round=${round}`, 204),
    callsFor(calls, 'GET', `/queues/traced/receiving?round=${round}`, 200),
  ]);
  // A duty of the service may share a moment with one of them, but not with more.
  const costly = windows.filter((window) => window.some(isSync) || window.some(writesStore));
  assert.ok(costly.length <= 1, `${costly.length} of ${windows.length} wrote to the disk`);
});
