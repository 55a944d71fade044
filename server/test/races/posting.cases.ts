/** Races of posting: create-next links, client-chosen ids, limits, auto-creation. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  create,
  draft,
  type Kind,
  type Nodes,
  outcomeOf,
  patient,
  post,
  race,
  range,
  receiveAll,
  SIXTEEN,
  tally,
} from './nodes.ts';

/** What lies in a destination, in order. */
async function contentOf(nodes: Nodes, kind: Kind, name: string, start: string): Promise<string[]> {
  const node = nodes.node(0);
  const destination = await node.destinations.get(kind, name);
  if (kind === 'queue') return receiveAll(node, destination);
  const { messages } = await node.reading.after(destination, start, { max: 1000, wait: 0 }, patient);
  return messages.map(({ body }) => body.toString());
}

export function postingRaces(nodes: () => Nodes): void {
  for (const kind of ['queue', 'topic'] as const) {
    for (const batch of [false, true]) {
      const what = `${batch ? 'batch' : 'message'} to a ${kind}`;
      it(`sixteen uses of one create-next link for a ${what}: one is stored, and every loser's fresh link works`, async () => {
        const destination = await create(nodes(), kind);
        const start = kind === 'topic' ? await nodes().node(0).reading.position(destination) : '';
        const { name } = destination;
        const links = (turn: number) => nodes().node(turn).once.of(kind, batch);
        const parcel = (text: string) => () => (batch ? [draft(text), draft(`${text}+`)] : [draft(text)]);
        const use = (token: string, turn: number, text: string) =>
          links(turn).use(name, token, parcel(text), { wishes: {} });

        const token = links(0).issue(name);
        const outcomes = await race(SIXTEEN.map((turn) => () => use(token, turn, `first ${turn}`)));
        assert.deepEqual(tally(outcomes.map((outcome) => outcome?.state)), { posted: 1, used: 15 });
        const nexts = outcomes.map((outcome) => outcome?.next ?? assert.fail('forged'));
        assert.equal(new Set(nexts).size, 16, 'nobody shares a link with another');
        const seconds = await race(nexts.map((next, turn) => () => use(next, turn, `second ${turn}`)));
        assert.deepEqual(tally(seconds.map((outcome) => outcome?.state)), { posted: 16 });

        const winner = outcomes.findIndex((outcome) => outcome?.state === 'posted');
        const texts = [`first ${winner}`, ...SIXTEEN.map((turn) => `second ${turn}`)];
        const wanted = batch ? texts.flatMap((text) => [text, `${text}+`]) : texts;
        const found = await contentOf(nodes(), kind, destination.name, start);
        assert.deepEqual(found.toSorted(), wanted.toSorted());
        if (batch) for (const text of texts) assert.ok(found.indexOf(text) < found.indexOf(`${text}+`), 'in order');
        const posted = outcomes[winner];
        assert.ok(posted?.state === 'posted');
        assert.deepEqual(await links(1).look(name, token), { state: 'used', ids: posted.ids });
      });
    }
  }

  it('sixteen PUTs of one id: one is new, the others repeat it', async () => {
    const queue = await create(nodes(), 'queue');
    const outcomes = await race(
      SIXTEEN.map((turn) => () => nodes().node(turn).posting.put(queue.name, 'one', draft('same'), { wishes: {} })),
    );
    assert.deepEqual(tally(outcomes), { true: 1, false: 15 });
    assert.deepEqual(await receiveAll(nodes().node(0), queue), ['same']);
  });

  it('PUTs of one id with two contents: one content wins, the other is refused throughout', async () => {
    const queue = await create(nodes(), 'queue');
    const contents = SIXTEEN.map((turn) => (turn % 4 < 2 ? 'left' : 'right'));
    const outcomes = await race(
      contents.map((content, turn) => async () => {
        let isNew = false;
        const put = async () => {
          isNew = await nodes().node(turn).posting.put(queue.name, 'one', draft(content), { wishes: {} });
        };
        const outcome = await outcomeOf(put());
        return outcome === 'ok' ? { content, isNew } : { content, refused: outcome };
      }),
    );
    const [stored, ...more] = outcomes.filter(({ isNew }) => isNew);
    assert.deepEqual(more, []);
    for (const { content, refused } of outcomes) {
      assert.equal(refused, content === stored?.content ? undefined : 'message-id-taken');
    }
    assert.deepEqual(await receiveAll(nodes().node(0), queue), [stored?.content]);
  });

  it('a full queue takes no more than it may, and a refused id stays free', async () => {
    const queue = await create(nodes(), 'queue', { 'max-length': 4 });
    const put = (turn: number): Promise<boolean> =>
      nodes()
        .node(turn)
        .posting.put(queue.name, `id-${turn}`, draft(`${turn}`), { wishes: {} });
    const outcomes = await race(SIXTEEN.map((turn) => () => outcomeOf(put(turn))));
    assert.deepEqual(tally(outcomes), { ok: 4, 'destination-full': 12 });
    assert.equal((await receiveAll(nodes().node(0), queue)).length, 4);
    const refused = SIXTEEN.filter((turn) => outcomes[turn] !== 'ok');
    for (const turn of refused.slice(0, 4)) assert.equal(await put(turn), true, 'new, because it was never stored');
  });

  it('a used link is told from a full queue, whoever asks', async () => {
    const queue = await create(nodes(), 'queue', { 'max-length': 1 });
    const links = (turn: number) => nodes().node(turn).once.of('queue', false);
    const token = links(0).issue(queue.name);
    const use = (turn: number) => links(turn).use(queue.name, token, () => [draft('x')], { wishes: {} });
    const outcomes = await race(SIXTEEN.map((turn) => () => use(turn)));
    assert.deepEqual(tally(outcomes.map((outcome) => outcome?.state)), { posted: 1, used: 15 });
  });

  it('sixteen posts to a queue that does not exist make one queue that holds them all', async () => {
    const name = nodes().freshName();
    await race(SIXTEEN.map((turn) => () => post(nodes().node(turn), { kind: 'queue', name }, `${turn}`)));
    const queue = await nodes().node(0).destinations.get('queue', name);
    assert.equal((await nodes().node(1).destinations.get('queue', name)).id, queue.id);
    const found = await receiveAll(nodes().node(0), queue);
    assert.deepEqual(found.toSorted(), range(16).map(String).toSorted());
  });
}
