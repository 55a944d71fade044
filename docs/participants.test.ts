/** The participant that the page shows, taken from the page and run against a real service. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../testing/eventually.ts';
import { temporaryFolder } from '../testing/folders.ts';
import { guardProcess } from '../testing/guard.ts';
import { type Answer, request } from '../testing/http.ts';
import { freePort } from '../testing/ports.ts';
import { startWaypost, type WaypostProcess } from '../testing/waypost.ts';

const PAGE = readFileSync(join(import.meta.dirname, 'participants.md'), 'utf8');
const PROGRAM = /```js\n(.*?)```/s.exec(PAGE)?.[1] ?? assert.fail('the page shows no program');
const TX = 'application/tx+xml';

describe('the participant of docs/participants.md', () => {
  const folder = temporaryFolder();
  const program = join(folder, 'shop.mjs');
  let waypost: WaypostProcess;
  let shop: ChildProcess;
  let port = 0;

  async function open(): Promise<void> {
    shop = spawn(process.execPath, [program, String(port), join(folder, 'data')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    guardProcess(shop.pid ?? assert.fail());
    if (shop.stdout !== null) await once(shop.stdout, 'data');
  }
  async function kill(): Promise<void> {
    shop.kill('SIGKILL');
    await once(shop, 'exit');
  }

  before(async () => {
    writeFileSync(program, PROGRAM);
    port = await freePort();
    await open();
    waypost = await startWaypost();
  });
  after(async () => {
    await kill();
    await waypost.stop();
  });

  const post = (url: string, type: string, body: string): Promise<Answer> =>
    request(url, { method: 'POST', headers: { 'content-type': type }, body });
  const stateAt = async (uri: string): Promise<string | undefined> =>
    /state="([a-z-]+)"/.exec((await request(uri)).text())?.[1];

  async function order(): Promise<{ transaction: string; state: string; end(state: string): Promise<Answer> }> {
    const created = await post(`${waypost.url}/transaction-manager`, TX, '<transaction timeout="PT30S"/>');
    const transaction = created.headers.location ?? '';
    const ordered = await post(`http://127.0.0.1:${port}/orders`, 'application/json', JSON.stringify({ transaction }));
    const state = ordered.headers.location ?? '';
    assert.equal((await post(created.link('participants'), 'text/uri-list', state)).status, 201);
    return { transaction, state, end: (wanted) => post(transaction, TX, `<transaction state="${wanted}"/>`) };
  }

  test('commits, rolls back, and refuses what it does not have', async () => {
    for (let sold = 0; sold < 5; sold++) {
      const { state, end } = await order();
      assert.equal((await end('committed')).status, 200);
      assert.equal(await stateAt(state), 'committed');
    }
    const sixth = await order();
    assert.equal((await sixth.end('committed')).status, 409);
    const seventh = await order();
    assert.equal((await seventh.end('rolled-back')).status, 200);
    assert.equal(await stateAt(seventh.state), 'rolled-back');
  });

  test('remembers everything after it was killed', async () => {
    await kill();
    await open();
    assert.equal(await stateAt(`http://127.0.0.1:${port}/orders/1/state`), 'committed');
    assert.equal(await stateAt(`http://127.0.0.1:${port}/orders/7/state`), 'rolled-back');
  });

  test('asks its transaction when it hears nothing', async () => {
    await kill();
    writeFileSync(
      join(folder, 'data', 'journal'),
      [
        { id: 1, transaction: `${waypost.url}/transaction-manager/transactions/nosuch`, state: 'prepared' },
        { id: 2, transaction: await committedElsewhere(), state: 'prepared' },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    );
    await open();
    const uri = (id: number): string => `http://127.0.0.1:${port}/orders/${id}/state`;
    await eventually('one is rolled back', async () => (await stateAt(uri(1))) === 'rolled-back');
    await eventually('one is committed', async () => (await stateAt(uri(2))) === 'committed');
  });

  async function committedElsewhere(): Promise<string> {
    const created = await post(`${waypost.url}/transaction-manager`, TX, '<transaction/>');
    const transaction = created.headers.location ?? '';
    const body = `<reservation><link rel="transaction" href="${transaction}"/></reservation>`;
    await post(`${waypost.url}/airline/reservations`, 'application/airline-rsv+xml', body);
    assert.equal((await post(transaction, TX, '<transaction state="committed"/>')).status, 200);
    return transaction;
  }
});
