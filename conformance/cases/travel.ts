import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mediaType } from '../expect.ts';
import { createManager, flight, hasLink, linkOf, linksOf, STATE, TX } from '../transactions.ts';
import type { World } from '../world.ts';
import { childText } from '../xml.ts';

/** The travel scenario of the contract, end to end. */
export function travel(world: World): void {
  const { client } = world;
  const manager = createManager(world);

  for (const way of ['POST', 'LINK'] as const) {
    it(`B a flight and a room in one transaction, registered by ${way}`, async () => {
      const answer = (
        await client.post(await world.link('transaction-manager'), {
          headers: { 'content-type': TX },
          body: '<transaction timeout="60000"/>',
        })
      ).expect(200);
      assert.equal(mediaType(answer), TX);
      const created = answer.xml();
      assert.equal(created.name, 'transaction');
      assert.deepEqual([created.attributes.timeout, created.attributes.state], ['60000', 'uncommitted']);
      const transaction = {
        address: client.store(answer.headers.location ?? ''),
        participants: client.store(linkOf(created, 'participants')),
      };

      const seat = flight(world);
      const stay = { date: '2027-03-01', nights: '3', hotel: world.name('hotel'), room: '7' };
      const booked = [
        {
          kind: 'airline',
          outcome: 'ticket',
          elements: seat,
          made: await manager.reserve('airline', transaction, seat),
        },
        { kind: 'hotel', outcome: 'room', elements: stay, made: await manager.reserve('hotel', transaction, stay) },
      ] as const;
      for (const { kind, outcome, elements, made } of booked) {
        assert.equal(mediaType(made.answer), `application/${kind}-res+xml`);
        const reservation = made.answer.xml();
        for (const [name, text] of Object.entries(elements)) assert.equal(childText(reservation, name), text);
        const types = new Map(linksOf(reservation).map(({ rel, type }) => [rel, type]));
        assert.equal(types.get('transaction'), TX);
        assert.equal(types.get('transaction-state'), STATE);
        assert.ok(!hasLink(reservation, outcome));
        // Created and read are the same representation; only the node that wrote the links may differ.
        const { origin } = new URL(made.answer.url);
        assert.equal((await client.get(`${origin}${made.address}`)).expect(200).text(), made.answer.text());
        const state = (await client.get(made.state)).expect(200);
        assert.equal(mediaType(state), STATE);
        assert.equal(state.xml().attributes.state, undefined);
      }

      for (const { kind, made } of booked) {
        const { base, href } = manager.on(made.state);
        const at = `${base}${transaction.participants}`;
        // They have registered themselves: registering again changes nothing.
        if (way === 'POST') {
          (await client.post(at, { headers: { 'content-type': 'uri-list' }, body: href })).expect(200);
        } else {
          (await client.send('LINK', at, { headers: { link: `<${href}>; rel="${kind}"; type="${STATE}"` } })).expect(
            204,
          );
        }
      }
      const members = (await manager.look(transaction)).children.filter(({ name }) => name === 'participant');
      assert.equal(members.length, 2);

      const committed = (await manager.commit(transaction)).expect(200);
      assert.equal(mediaType(committed), TX);
      assert.equal(committed.xml().attributes.state, 'committed');
      for (const { outcome, elements, made } of booked) {
        assert.equal((await client.get(made.state)).expect(200).xml().attributes.state, 'committed');
        const reservation = (await client.get(made.address)).expect(200).xml();
        const link = linksOf(reservation).find(({ rel }) => rel === outcome);
        assert.equal(link?.type, `application/${outcome}+xml`);
        const document = (await client.get(client.store(link?.href ?? ''))).expect(200);
        assert.equal(mediaType(document), `application/${outcome}+xml`);
        for (const [name, text] of Object.entries(elements)) assert.equal(childText(document.xml(), name), text);
        assert.equal(client.store(linkOf(document.xml(), 'reservation')), made.address);
      }
    });
  }

  it('B nothing of a rolled-back trip stays', async () => {
    const transaction = await manager.begin();
    const seat = flight(world);
    const made = await manager.reserve('airline', transaction, seat);
    assert.equal((await manager.end(transaction, 'rolled-back')).expect(200).xml().attributes.state, 'rolled-back');
    assert.equal((await client.get(made.state)).expect(200).xml().attributes.state, 'rolled-back');
    assert.ok(!hasLink((await client.get(made.address)).expect(200).xml(), 'ticket'));
    // The seat is free.
    const next = await manager.begin();
    await manager.reserve('airline', next, seat);
    (await manager.commit(next)).expect(200);
  });
}
