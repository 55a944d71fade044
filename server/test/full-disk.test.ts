/** A disk that is full or does not take writes: nothing answered is lost, nothing refused is stored, all of it recovers. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../testing/eventually.ts';
import { type Answer, request } from '../../testing/http.ts';
import { mountSmallDisk, type SmallDisk } from '../../testing/small-disk.ts';
import { startWaypost, type WaypostProcess } from '../../testing/waypost.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

const post = (waypost: WaypostProcess, queue: string, body: string | Buffer) =>
  request(`${waypost.url}/queues/${queue}`, { method: 'POST', body });
const receive = (waypost: WaypostProcess, queue: string) =>
  request(`${waypost.url}/queues/${queue}/receiving`, { method: 'POST' });

function isRefusal(answer: Answer, status: number, code: string): void {
  assert.equal(answer.status, status, answer.text());
  assert.equal(answer.headers['content-type'], 'application/problem+json');
  assert.match(answer.json<{ type: string }>().type, new RegExp(`/problems/${code}$`));
  assert.match(answer.headers['retry-after'] ?? '', /^\d+$/);
}

/** Takes everything off a queue, in order. */
async function drain(waypost: WaypostProcess, queue: string): Promise<string[]> {
  const bodies: string[] = [];
  for (;;) {
    const answer = await receive(waypost, queue);
    if (answer.status === 204) return bodies;
    assert.equal(answer.status, 200, answer.text());
    bodies.push(answer.text());
  }
}

/** A body of so many bytes that begins with its name. */
const named = (name: string, bytes: number): string => name.padEnd(bytes, '.');

describe('a full disk, with a reserve', () => {
  let disk: SmallDisk;
  let waypost: WaypostProcess;
  const start = () => startWaypost({ data: join(disk.path, 'data'), args: ['--disk-reserve', String(4 * MIB)] });
  before(async () => {
    disk = await mountSmallDisk(32 * MIB);
    waypost = await start();
  });
  after(async () => {
    await waypost.stop();
    await disk.unmount();
  });

  test('posts are refused, all else works, and everything comes back by itself', async () => {
    const bodies = Array.from({ length: 300 }, (_, number) => named(`message ${number}`, KIB));
    for (const body of bodies) assert.equal((await post(waypost, 'full', body)).status, 204);
    const { location = '' } = (await post(waypost, 'kept', 'kept')).headers;

    disk.fill(0);
    await eventually('posts are refused', async () => (await post(waypost, 'full', 'x')).status === 507);
    isRefusal(await post(waypost, 'full', 'x'), 507, 'storage-full');
    isRefusal(
      await request(`${waypost.url}/queues/full/messages/own`, { method: 'PUT', body: 'x' }),
      507,
      'storage-full',
    );
    isRefusal(await request(`${waypost.url}/topics/full`, { method: 'POST', body: 'x' }), 507, 'storage-full');
    assert.equal((await request(location)).text(), 'kept');
    assert.equal((await request(`${waypost.url}/queues`)).status, 200);
    assert.equal((await request(`${waypost.url}/status`)).status, 200);
    assert.equal((await receive(waypost, 'full')).text(), bodies[0]);

    // A message that costs no disk write is none of the disk's business.
    const light = await request(`${waypost.url}/queues/kept?persistent=false`, { method: 'POST', body: 'light' });
    assert.equal(light.status, 204, light.text());

    // As often as one likes: what was given up in advance must not run out by receiving.
    disk.fill(0);
    assert.deepEqual(await drain(waypost, 'full'), bodies.slice(1));

    disk.empty();
    await eventually('posts are taken again', async () => (await post(waypost, 'again', 'x')).status === 204);
    assert.deepEqual(await drain(waypost, 'kept'), ['kept', 'light']);
    assert.deepEqual(await drain(waypost, 'full'), []);
    assert.equal((await drain(waypost, 'again')).length, 1);
  });

  test('the service starts on a full disk and gives out what it holds', async () => {
    for (const body of ['one', 'two']) assert.equal((await post(waypost, 'start', body)).status, 204);
    assert.equal(await waypost.stop(), 0);
    disk.fill(0);
    waypost = await start();
    isRefusal(await post(waypost, 'start', 'x'), 507, 'storage-full');
    assert.deepEqual(await drain(waypost, 'start'), ['one', 'two']);
    disk.empty();
    await eventually('posts are taken again', async () => (await post(waypost, 'start', 'x')).status === 204);
  });
});

describe('a full disk, without a reserve', () => {
  let disk: SmallDisk;
  let waypost: WaypostProcess;
  const start = () => startWaypost({ data: join(disk.path, 'data'), args: ['--disk-reserve', '0'] });
  before(async () => {
    disk = await mountSmallDisk(64 * MIB);
    waypost = await start();
  });
  after(async () => {
    await waypost.stop();
    await disk.unmount();
  });

  /** Sixteen clients post until each of them was refused a few times. */
  async function postUntilRefused(round: string): Promise<{ taken: Set<string>; refused: Set<string> }> {
    const taken = new Set<string>();
    const refused = new Set<string>();
    const client = async (client: number): Promise<void> => {
      for (let number = 0, refusals = 0; refusals < 5; number += 1) {
        const name = `${round} ${client} ${number}`;
        const answer = await post(waypost, 'brim', named(name, number % 2 === 0 ? 16 * KIB : 600));
        if (answer.status === 204) taken.add(name);
        else {
          isRefusal(answer, 507, 'storage-full');
          refused.add(name);
          refusals += 1;
        }
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, number) => client(number)));
    assert.ok(taken.size > 0 && refused.size >= 80);
    return { taken, refused };
  }

  async function received(): Promise<string[]> {
    const names = (await drain(waypost, 'brim')).map((body) => body.replace(/\.+$/, ''));
    assert.equal(new Set(names).size, names.length, 'a message came twice');
    return names.sort();
  }

  test('no answered post is lost and no refused one is stored, in the same process and after a crash', async () => {
    disk.fill(12 * MIB);
    const first = await postUntilRefused('first');
    // A look and the end of the service's own making must work with no byte free.
    assert.equal((await request(`${waypost.url}/queues/brim`)).status, 200);
    disk.empty();
    assert.deepEqual(await received(), [...first.taken].sort());

    disk.fill(12 * MIB);
    const second = await postUntilRefused('second');
    waypost.kill('SIGKILL');
    await waypost.exited;
    disk.empty();
    waypost = await start();
    assert.deepEqual(await received(), [...second.taken].sort());
  });
});

describe('a disk that takes no writes', () => {
  test('posts and receives are refused until it does, looking goes on, nothing is lost', async () => {
    const waypost = await startWaypost();
    for (const body of ['one', 'two']) assert.equal((await post(waypost, 'dead', body)).status, 204);
    // No file of the process may grow any more: each write to the disk fails, as on one that is broken or read-only.
    limitFileSize(waypost, '0:unlimited');
    isRefusal(await post(waypost, 'dead', 'x'), 503, 'store-unavailable');
    isRefusal(await receive(waypost, 'dead'), 503, 'store-unavailable');
    const looked = await request(`${waypost.url}/queues/dead/receiving`);
    assert.equal(looked.text(), 'one');
    const mixed = await Promise.all([
      post(waypost, 'dead', 'x'),
      request(looked.headers['content-location'] ?? ''),
      post(waypost, 'dead', 'x'),
      request(`${waypost.url}/queues/dead`),
    ]);
    assert.deepEqual(
      mixed.map(({ status }) => status),
      [503, 200, 503, 200],
    );
    limitFileSize(waypost, 'unlimited:unlimited');
    assert.equal((await post(waypost, 'dead', 'three')).status, 204);
    assert.deepEqual(await drain(waypost, 'dead'), ['one', 'two', 'three']);
    assert.equal(await waypost.stop(), 0);
  });
});

function limitFileSize(waypost: WaypostProcess, limit: string): void {
  execFileSync('prlimit', ['--pid', String(waypost.pid), `--fsize=${limit}`]);
}
