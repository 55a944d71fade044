import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import type { World } from '../world.ts';

const XML = { 'content-type': 'application/xml' };

export function xmlInput(world: World): void {
  const { client } = world;
  const create = async (body: string | Buffer, headers = XML) =>
    client.post(await world.link('queues'), { headers, body });

  const nested = (depth: number): string => {
    const inner = depth - 1;
    return `<queue name="${world.name()}">${'<x>'.repeat(inner)}${'</x>'.repeat(inner)}</queue>`;
  };

  it('G7 a DOCTYPE is refused', async () => {
    const name = world.name();
    for (const doctype of [
      '<!DOCTYPE queue>',
      '<!DOCTYPE queue SYSTEM "http://127.0.0.1:9/evil.dtd">',
      '<!DOCTYPE queue [<!ENTITY a "b">]>',
      '<!DOCTYPE queue [<!ENTITY file SYSTEM "file:///etc/passwd">]>',
    ]) {
      expectProblem(await create(`${doctype}<queue name="${name}"/>`), 400);
      expectProblem(await create(`<?xml version="1.0"?>\n${doctype}<queue name="${name}"/>`), 400);
    }
    (await client.get(await world.address('queue', name))).expect(404);
  });

  it('G7 entities that multiply are refused at once', async () => {
    const entities = Array.from({ length: 10 }, (_, i) => `<!ENTITY e${i + 1} "${`&e${i};`.repeat(10)}">`).join('');
    expectProblem(await create(`<!DOCTYPE q [<!ENTITY e0 "ha">${entities}]><queue name="&e10;"/>`), 400);
  });

  it('G7 only the built-in entities are known', async () => {
    for (const entity of ['&nbsp;', '&file;', '&amp', '&;']) {
      expectProblem(await create(`<queue><name>a${entity}b</name></queue>`), 400);
    }
    // Readable, but no name may have these characters.
    expectProblem(await create('<queue><name>&lt;&gt;&amp;&apos;&quot;</name></queue>'), 400);
  });

  it('G7 character references are read', async () => {
    const name = world.name();
    const body = `<queue name="${[...name].map((character) => `&#${character.charCodeAt(0)};`).join('')}"/>`;
    await world.address('queue', name);
    assert.equal((await create(body)).expect(201).json().name, name);
  });

  it('G7 elements may be nested 64 deep and no deeper', async () => {
    // Readable, but no setting is called so.
    expectProblem(await create(nested(64)), 422);
    expectProblem(await create(nested(65)), 400);
    expectProblem(await create(nested(50_000)), 400);
  });

  it('G7 what is not well-formed is refused', async () => {
    const name = world.name();
    const broken = [
      `<queue name="${name}"`,
      `<queue name="${name}"></topic>`,
      `<queue name="${name}"/><queue/>`,
      `<queue name='${name}"/>`,
      `<queue name="${name}" name="x"/>`,
      `<q:queue name="${name}"/>`,
      `text`,
      ' ',
      `<queue name="${name}"/>\u0000`,
    ];
    for (const body of broken) expectProblem(await create(body), 400);
    expectProblem(await create(Buffer.from(`<queue name="${name}\xe9"/>`, 'latin1')), 400);
    (await client.get(await world.address('queue', name))).expect(404);
  });

  it('G7 another root element is readable and wrong', async () => {
    expectProblem(await create(`<topic name="${world.name()}"/>`), 422);
  });

  it('G7 XML with a declaration, comments, CDATA and links is read', async () => {
    const name = world.name();
    await world.address('queue', name);
    const answer = await create(
      `<?xml version="1.0" encoding="UTF-8"?><!-- new --><queue><name><![CDATA[${name}]]></name><lease> 12 </lease>
        <link rel="self" href="http://elsewhere.example/"/>
        <link xmlns="http://www.w3.org/2005/Atom" rel="x" href="/"/></queue>`,
    );
    assert.equal(answer.expect(201).json().name, name);
    assert.equal(answer.json().lease, 12);
  });

  it('G7 XML is known by its media type, with or without parameters', async () => {
    for (const type of ['application/xml', 'application/xml; charset=utf-8', 'text/xml']) {
      const name = world.name();
      await world.address('queue', name);
      (await create(`<queue name="${name}"/>`, { 'content-type': type })).expect(201);
    }
  });
}
