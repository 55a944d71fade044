import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { expectProblem, mediaType } from '../expect.ts';
import { createParticipants } from '../participants.ts';
import { createManager, flight, type ReservationKind, STATE } from '../transactions.ts';
import { contentOfJson, contentOfXml } from '../twins.ts';
import type { World } from '../world.ts';
import { childText } from '../xml.ts';

export function reservations(world: World): void {
  const { client } = world;
  const manager = createManager(world);
  const remote = createParticipants();
  after(() => remote.close());

  const put = (address: string, state: string) =>
    client.put(address, { headers: { 'content-type': STATE }, body: `<transactional-state state="${state}"/>` });
  const stateAt = async (address: string) => (await client.get(address)).expect(200).xml().attributes.state;

  /** Commits reservations each in a transaction of its own, one after the other; whether each was given. */
  async function inTurn(kind: ReservationKind, all: Record<string, string>[]): Promise<boolean[]> {
    const given: boolean[] = [];
    for (const elements of all) {
      const transaction = await manager.begin();
      await manager.reserve(kind, transaction, elements);
      given.push((await manager.commit(transaction)).expect(200, 409).status === 200);
    }
    return given;
  }

  it('B10 without a link to a transaction: 422; to one that is over: 409', async () => {
    const transaction = await manager.begin();
    (await manager.end(transaction, 'rolled-back')).expect(200);
    const { base, href } = manager.on(transaction.address);
    for (const kind of ['airline', 'hotel'] as const) {
      const at = `${base}${await world.link(`${kind}-reservations`)}`;
      const headers = { 'content-type': `application/${kind}-rsv+xml` };
      expectProblem(await client.post(at, { headers, body: '<reservation><seat>1</seat></reservation>' }), 422);
      const body = `<reservation><link rel="transaction" href="${href}"/></reservation>`;
      expectProblem(await client.post(at, { headers, body }), 409);
      expectProblem(await client.post(at, { headers, body: '<other/>' }), 400, 422);
    }
  });

  it('B10 elements are free-form and come back as they were', async () => {
    const transaction = await manager.begin();
    const elements = { date: 'when it suits', seat: ' 1A & 1B ', wish: 'a window <please>' };
    const { answer, address } = await manager.reserve('airline', transaction, elements);
    for (const shown of [answer, await client.get(address)]) {
      for (const [name, text] of Object.entries(elements)) assert.equal(childText(shown.xml(), name), text);
    }
  });

  it('B10 the collection lists, and the twins say the same', async () => {
    const transaction = await manager.begin();
    for (const kind of ['airline', 'hotel'] as const) {
      const { address } = await manager.reserve(kind, transaction, { date: '2027-01-01', note: world.name() });
      const at = await world.link(`${kind}-reservations`);
      const list = (await client.get(at, { headers: { accept: 'application/json' } })).expect(200);
      const { items } = contentOfJson(list.json());
      assert.ok(items.some(({ links }) => links.some((link) => client.store(link.href) === address)));
      const { href } = manager.on(address);
      const json = (await client.get(href, { headers: { accept: 'application/json' } })).expect(200);
      const xml = (await client.get(href)).expect(200);
      assert.equal(mediaType(xml), `application/${kind}-res+xml`);
      assert.deepEqual(contentOfJson(json.json()), contentOfXml(xml.xml()));
    }
  });

  it('B10 a reservation in JSON', async () => {
    const transaction = await manager.begin();
    const { base, href } = manager.on(transaction.address);
    const body = JSON.stringify({ ...flight(world), links: [{ rel: 'transaction', href }] });
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const made = (await client.post(`${base}${await world.link('airline-reservations')}`, { headers, body })).expect(
      200,
    );
    (await manager.commit(transaction)).expect(200);
    const reservation = (await client.get(client.store(made.headers.location ?? ''))).expect(200);
    const ticket = (
      await client.get(client.store(reservation.link('ticket')), { headers: { accept: 'application/json' } })
    ).expect(200);
    assert.equal(ticket.json().seat, '12A');
  });

  it('B11 a seat is given once; another seat, date or flight is another thing', async () => {
    const seat = flight(world);
    const wanted = [
      seat,
      seat,
      { ...seat, seat: ' 12A ' },
      { ...seat, seat: '12a' },
      { ...seat, seat: '12B' },
      { ...seat, date: '2027-03-02' },
    ];
    assert.deepEqual(await inTurn('airline', wanted), [true, false, false, true, true, true]);
  });

  it('B11 nights that overlap are given once', async () => {
    const room = { hotel: world.name('hotel'), room: '1' };
    const wanted = [
      { ...room, date: '2027-03-10', nights: '3' },
      { ...room, date: '2027-03-12', nights: '1' },
      { ...room, date: '2027-03-08', nights: '3' },
      { ...room, date: '2027-03-13', nights: '2' },
      { ...room, date: '2027-03-08', nights: '2' },
      { ...room, date: '2027-03-01', nights: '30' },
      { ...room, room: '2', date: '2027-03-10', nights: '3' },
    ];
    assert.deepEqual(await inTurn('hotel', wanted), [true, false, false, true, true, false, true]);
  });

  it('B11 dates that are no ISO dates conflict when they are equal', async () => {
    const room = { hotel: world.name('hotel'), room: '1', nights: '2' };
    const wanted = ['Easter', 'Easter', 'Whitsun'].map((date) => ({ ...room, date }));
    assert.deepEqual(await inTurn('hotel', wanted), [true, false, true]);
  });

  it('B11 what leaves the elements out is not checked', async () => {
    const { seat: _, ...anySeat } = flight(world);
    assert.deepEqual(await inTurn('airline', [anySeat, anySeat]), [true, true]);
  });

  it('B11 a refused seat rolls the whole transaction back, and its other seat is free again', async () => {
    const [taken, free] = [flight(world), flight(world)];
    assert.deepEqual(await inTurn('airline', [taken]), [true]);
    const transaction = await manager.begin();
    const first = await manager.reserve('airline', transaction, free);
    const second = await manager.reserve('airline', transaction, taken);
    const problem = expectProblem(await manager.commit(transaction), 409);
    assert.equal((problem.transaction as { state: string }).state, 'rolled-back');
    assert.equal(await stateAt(first.state), 'rolled-back');
    assert.notEqual(await stateAt(second.state), 'committed');
    assert.deepEqual(await inTurn('airline', [free]), [true]);
  });

  it('B11 two reservations of one transaction for one seat cannot both be prepared', async () => {
    const seat = flight(world);
    const transaction = await manager.begin();
    await manager.reserve('airline', transaction, seat);
    await manager.reserve('airline', transaction, seat);
    expectProblem(await manager.commit(transaction), 409);
    assert.deepEqual(await inTurn('airline', [seat]), [true]);
  });

  it('B11 many race for one seat: one ticket', async () => {
    const seat = flight(world);
    const transactions = await Promise.all(Array.from({ length: 20 }, () => manager.begin()));
    await Promise.all(transactions.map((transaction) => manager.reserve('airline', transaction, seat)));
    const answers = await Promise.all(transactions.map((transaction) => manager.commit(transaction)));
    assert.equal(answers.filter((answer) => answer.expect(200, 409).status === 200).length, 1);
  });

  it('B12 nobody prepares, commits or rolls back out of turn', async () => {
    const transaction = await manager.begin();
    const { state, address } = await manager.reserve('airline', transaction, flight(world));
    for (const wanted of ['prepared', 'committed', 'rolled-back']) {
      expectProblem(await put(state, wanted), 409);
      assert.equal(await stateAt(state), undefined);
    }
    for (const wanted of ['', 'read-only', 'uncommitted']) expectProblem(await put(state, wanted), 422);
    assert.ok(!(await client.get(address)).expect(200).has('ticket'));
  });

  it('B12 while the commit runs only prepared is possible, and a repeat changes nothing', async () => {
    const transaction = await manager.begin();
    const { state } = await manager.reserve('airline', transaction, flight(world));
    const slow = await remote.participant();
    (await manager.register(transaction, [slow.uri])).expect(201);
    slow.trick('prepared', ['silent']);
    const commit = manager.commit(transaction);
    await world.until('it is prepared', async () => (await stateAt(state)) === 'prepared' && slow.seen.length > 0);
    (await put(state, 'prepared')).expect(200);
    expectProblem(await put(state, 'committed'), 409);
    expectProblem(await put(state, 'rolled-back'), 409);
    slow.release();
    (await commit).expect(200);
    (await put(state, 'committed')).expect(200);
    expectProblem(await put(state, 'prepared'), 409);
    expectProblem(await put(state, 'rolled-back'), 409);
    assert.equal(await stateAt(state), 'committed');
  });

  it('B12 after a rollback it stays so', async () => {
    const transaction = await manager.begin();
    const { state } = await manager.reserve('hotel', transaction, { date: '2027-01-01' });
    (await manager.end(transaction, 'rolled-back')).expect(200);
    (await put(state, 'rolled-back')).expect(200);
    expectProblem(await put(state, 'prepared'), 409);
    expectProblem(await put(state, 'committed'), 409);
  });

  it('B14 a reservation takes part in a transaction of another service', async () => {
    // The other service is played by the case: it has a transaction at an address of its own, and orders over HTTP.
    const elsewhere = await remote.participant('transaction');
    const at = await world.link('airline-reservations');
    const body = `<reservation><seat>1</seat><link rel="transaction" href="${elsewhere.uri}"/></reservation>`;
    const made = (await client.post(at, { headers: { 'content-type': 'application/airline-rsv+xml' }, body })).expect(
      200,
    );
    const state = client.store(made.link('transaction-state'));
    assert.equal((await put(state, 'prepared')).expect(200).xml().attributes.state, 'prepared');
    (await put(state, 'committed')).expect(200);
    assert.ok((await client.get(client.store(made.headers.location ?? ''))).expect(200).has('ticket'));
  });
}
