/** Random histories of consumers and entitlements, with restarts, checked against a small model. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { fc } from '../../../testing/properties.ts';
import { stateOf } from '../../src/consumers/consumer.ts';
import { ENTITLEMENT_STATES, type EntitlementState, stateAt, terminationOf } from '../../src/consumers/entitlement.ts';
import { Problem } from '../../src/problems.ts';
import { Model, type ModelConsumer, type ModelEntitlement, type ModelOutcome } from './consumer-model.ts';
import { openService, type Service } from './service.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const HOUR = 3_600_000;
const RUNS = { sqlite: 200, postgresql: 70 };

/** `pick` chooses among what there is at that moment, modulo its number. Times are hours from now. */
type Action =
  | { do: 'create'; id: number; name: number; key: number | null }
  | { do: 'update'; pick: number; name?: number; key?: number | null; stale: boolean }
  | { do: 'terminate' | 'reinstate'; pick: number; strict: boolean; reason?: string; stale: boolean }
  | { do: 'grant'; pick: number; product: number; quantity: number; start?: number; end: number | null }
  | { do: 'change'; pick: number; quantity?: number; end?: number | null }
  | { do: 'end' | 'restore'; pick: number; strict: boolean; reason?: string }
  | { do: 'bulk'; picks: number[]; entitlements: boolean; background: boolean }
  | { do: 'wait'; hours: number }
  | { do: 'restart' };

const pick = fc.nat(20);
const strict = fc.boolean();
const reason = fc.constantFrom('moved', 'unpaid');
const stale = fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
const key = fc.option(fc.nat(2));
const end = fc.option(fc.constantFrom(-1, 1, 3, 10));
const name = fc.nat(2);
const quantity = fc.integer({ min: 1, max: 3 });
const weighted = (weight: number, arbitrary: fc.Arbitrary<unknown>) => ({ weight, arbitrary });
const oneOf = fc.constantFrom;

const action = fc.oneof(
  weighted(8, fc.record({ do: oneOf('create'), id: fc.nat(6), name, key })),
  weighted(6, fc.record({ do: oneOf('update'), pick, name, key, stale }, { requiredKeys: ['do', 'pick', 'stale'] })),
  weighted(
    14,
    fc.record(
      { do: oneOf('terminate', 'reinstate'), pick, strict, reason, stale },
      { requiredKeys: ['do', 'pick', 'strict', 'stale'] },
    ),
  ),
  weighted(
    20,
    fc.record(
      { do: oneOf('grant'), pick, product: fc.nat(2), quantity, start: oneOf(-5, 0, 2), end },
      { requiredKeys: ['do', 'pick', 'product', 'quantity', 'end'] },
    ),
  ),
  weighted(8, fc.record({ do: oneOf('change'), pick, quantity, end }, { requiredKeys: ['do', 'pick'] })),
  weighted(
    14,
    fc.record({ do: oneOf('end', 'restore'), pick, strict, reason }, { requiredKeys: ['do', 'pick', 'strict'] }),
  ),
  weighted(
    3,
    fc.record({
      do: oneOf('bulk'),
      picks: fc.array(pick, { minLength: 1, maxLength: 4 }),
      entitlements: fc.boolean(),
      background: fc.boolean(),
    }),
  ),
  weighted(10, fc.record({ do: oneOf('wait'), hours: oneOf(1, 2, 6) })),
  weighted(1, fc.record({ do: oneOf('restart') })),
) as fc.Arbitrary<Action>;

forEachEngine('a history of consumers', (engine) => {
  let service: Service;
  before(async () => {
    service = await openService(engine);
    service.clock.time = START;
  });
  after(() => service.close());

  it('is what the model says', { timeout: 240_000 }, async () => {
    const numRuns = RUNS[engine.name];
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 60 }), (history) => play(history)),
      {
        numRuns,
        endOnFailure: false,
        interruptAfterTimeLimit: 200_000,
        markInterruptAsFailure: true,
      },
    );
  });

  async function play(history: readonly Action[]): Promise<void> {
    const model = new Model(service.clock.time ?? START);
    // Ids and keys of this run alone.
    const run = randomUUID();
    const idOf = (i: number): string => run.slice(0, -2) + String(i).padStart(2, '0');
    const keyOf = (i: number | null): string | null => (i === null ? null : `${run} ${i}`);
    const marker = await service.area.consumers.create({
      id: undefined,
      name: 'marker',
      externalKey: null,
      metadata: {},
    });
    const firstEvent = (await countEvents()) ?? 0;
    for (const step of history) {
      await act(step, model, idOf, keyOf);
      service.clock.time = model.now;
    }
    await compare(model, marker.n, firstEvent);
  }

  async function act(
    step: Action,
    model: Model,
    idOf: (i: number) => string,
    keyOf: (i: number | null) => string | null,
  ): Promise<void> {
    const { consumers, entitlements, bulk } = service.area;
    const at = (hours: number): number => model.now + hours * HOUR;
    const check = (): void => {};
    const refuse = (): void => {
      throw new Problem('precondition-failed', 'stale');
    };
    const transition = ({ strict: isStrict, reason: why }: { strict: boolean; reason?: string }, isStale = false) => ({
      change: why === undefined ? {} : { reason: why },
      strict: isStrict,
      check: isStale ? refuse : check,
    });
    switch (step.do) {
      case 'create': {
        const fields = { id: idOf(step.id), name: `name ${step.name}`, externalKey: keyOf(step.key), metadata: {} };
        return agree(model.create(fields.id, fields.name, fields.externalKey), () => consumers.create(fields), step);
      }
      case 'update': {
        const found = chosen(model.consumers, step.pick);
        if (found === undefined) return;
        const changes = {
          ...(step.name === undefined ? {} : { name: `name ${step.name}` }),
          ...(step.key === undefined ? {} : { externalKey: keyOf(step.key) }),
        };
        const expected: ModelOutcome = step.stale
          ? { problem: 'precondition-failed' }
          : model.update(found, changes.name, changes.externalKey);
        return agree(
          expected,
          () => consumers.update(found.id, { changes, claimed: {} }, step.stale ? refuse : check),
          step,
        );
      }
      case 'terminate':
      case 'reinstate': {
        const found = chosen(model.consumers, step.pick);
        if (found === undefined) return;
        const to = step.do === 'terminate' ? 'terminated' : 'active';
        const expected: ModelOutcome = step.stale
          ? { problem: 'precondition-failed' }
          : model.setState(found, to, step.strict, step.reason);
        return agree(expected, () => consumers[step.do](found.id, transition(step, step.stale)), step);
      }
      case 'grant': {
        const found = chosen(model.consumers, step.pick);
        if (found === undefined) return;
        const id = randomUUID();
        const product = `product ${step.product}`;
        const start = step.start === undefined ? undefined : at(step.start);
        const wanted = { quantity: step.quantity, end: step.end === null ? null : at(step.end) };
        const expected = model.grant(found, id, { product, ...wanted, ...(start === undefined ? {} : { start }) });
        const made = { id, product: { id: product, name: null }, ...wanted, start };
        return agree(expected, () => entitlements.create(found.id, made), step);
      }
      case 'change': {
        const found = chosen(model.entitlements, step.pick);
        if (found === undefined) return;
        const changes = {
          ...(step.quantity === undefined ? {} : { quantity: step.quantity }),
          ...(step.end === undefined ? {} : { end: step.end === null ? null : at(step.end) }),
        };
        return agree(
          model.change(found, changes),
          () => entitlements.update(found.id, { changes, claimed: {} }, check),
          step,
        );
      }
      case 'end':
      case 'restore': {
        const found = chosen(model.entitlements, step.pick);
        if (found === undefined) return;
        const expected =
          step.do === 'end' ? model.end(found, step.strict, step.reason) : model.restore(found, step.strict);
        const name = step.do === 'end' ? 'terminate' : 'reinstate';
        return agree(expected, () => entitlements[name](found.id, transition(step)), step);
      }
      case 'bulk': {
        const found = step.picks.flatMap((each) => {
          const one = step.entitlements ? chosen(model.entitlements, each) : chosen(model.consumers, each);
          return one === undefined ? [] : [one];
        });
        if (found.length === 0) return;
        for (const each of found) {
          if ('product' in each) model.end(each, false);
          else model.setState(each, 'terminated', false);
        }
        const kind = step.entitlements ? ('entitlement' as const) : ('consumer' as const);
        const order = { kind, targets: found.map(({ id }) => ({ item: id, id })), strict: false, change: {} };
        if (!step.background) await bulk.run(order);
        else {
          await bulk.start(order);
          await service.runJobs();
        }
        return;
      }
      case 'wait':
        model.now += step.hours * HOUR;
        return;
      case 'restart':
        return service.restart();
    }
  }

  async function agree(
    expected: ModelOutcome,
    attempt: () => Promise<{ version: number }>,
    step: Action,
  ): Promise<void> {
    const found: ModelOutcome = await attempt().then(
      ({ version }) => ({ version }),
      (error) => {
        if (error instanceof Problem) return { problem: error.code };
        throw error;
      },
    );
    assert.deepEqual(found, expected, JSON.stringify(step));
  }

  async function compare(model: Model, marker: number, firstEvent: number): Promise<void> {
    for (const expected of model.consumers)
      assert.deepEqual(await lookAtConsumer(expected), shownConsumer(model, expected));
    for (const expected of model.entitlements) {
      assert.deepEqual(await lookAtEntitlement(expected), shownEntitlement(model, expected));
    }
    for (const status of [undefined, 'all', ...ENTITLEMENT_STATES] as const) {
      for (const at of [undefined, model.now + 2 * HOUR, model.now - 2 * HOUR]) {
        const wanted = (state: EntitlementState): boolean =>
          status === undefined ? state !== 'terminated' : status === 'all' || status === state;
        const filter = { ...(status === undefined ? {} : { status }), ...(at === undefined ? {} : { at }) };
        const { items } = await service.area.listing.list(
          filter,
          { limit: 1000, backwards: false },
          { consumer: marker, n: 0 },
        );
        const expected = model.consumers.flatMap((each) =>
          each.entitlements.filter((one) => wanted(model.stateOf(one, at))).map(({ id }) => id),
        );
        assert.deepEqual(
          items.map(({ id }) => id),
          expected,
          `status ${status}, at ${at}`,
        );
      }
    }
    for (const status of ['active', 'terminated', 'all'] as const) {
      const page = { limit: 1000, key: undefined, backwards: false };
      const listed = await service.area.consumers.list(page, marker, status);
      const expected = model.consumers.filter(
        ({ terminated }) => status === 'all' || (terminated === undefined) === (status === 'active'),
      );
      assert.deepEqual(
        listed.map(({ id }) => id),
        expected.map(({ id }) => id),
        status,
      );
    }
    const told = (await readEvents(firstEvent)).map(({ type, id, version, entitlements }) =>
      entitlements === undefined ? [type, id, version] : [type, id, version, entitlements],
    );
    assert.deepEqual(told, model.events);
  }

  async function lookAtConsumer({ id }: ModelConsumer) {
    const {
      name: text,
      externalKey,
      version,
      terminated,
      entitlements,
      ...rest
    } = await service.area.consumers.get(id);
    return {
      name: text,
      key: externalKey,
      version,
      terminated,
      state: stateOf({ ...rest, ...(terminated && { terminated }) }),
      entitlements,
    };
  }

  function shownConsumer(model: Model, consumer: ModelConsumer) {
    const { name: text, key: externalKey, version, terminated } = consumer;
    const state = terminated === undefined ? 'active' : 'terminated';
    return { name: text, key: externalKey, version, terminated, state, entitlements: model.countOf(consumer) };
  }

  async function lookAtEntitlement({ id }: ModelEntitlement) {
    const found = await service.area.entitlements.get(id);
    const { quantity: many, start, end: over, version } = found;
    const state = stateAt(found, service.clock.time ?? 0);
    return { quantity: many, start, end: over, version, state, cause: terminationOf(found)?.cause };
  }

  function shownEntitlement(model: Model, entitlement: ModelEntitlement) {
    const { quantity: many, start, end: over, version, terminated, consumer } = entitlement;
    const cause = terminated !== undefined ? 'entitlement' : consumer.terminated !== undefined ? 'consumer' : undefined;
    return { quantity: many, start, end: over, version, state: model.stateOf(entitlement), cause };
  }

  const EVENTS = `FROM message WHERE dest = (SELECT id FROM destination WHERE kind = 'topic' AND name = 'consumer-events')`;

  async function countEvents(): Promise<number | undefined> {
    const row = await service.store.read((tx) => tx.get<{ last: number }>(`SELECT max(pos) AS last ${EVENTS}`));
    return row?.last;
  }

  async function readEvents(behind: number) {
    const rows = await service.store.read((tx) =>
      tx.all<{ headers: string; body: Buffer }>(`SELECT headers, body ${EVENTS} AND pos > $1 ORDER BY pos`, [behind]),
    );
    return rows.map(({ headers, body }) => {
      const fields = Object.fromEntries(JSON.parse(headers) as [string, string][]);
      const data = JSON.parse(body.toString()) as { id: string; version: number; entitlements?: number };
      return { type: fields['ce-type'], ...data };
    });
  }
});

function chosen<T>(from: readonly T[], number: number): T | undefined {
  return from[number % Math.max(1, from.length)];
}
