/** Plain pages for people, made from the tables the service runs by. */
import type { Link } from '../http/links.ts';
import { allowedMethods, type Operation, type Route } from '../http/operation.ts';
import { paths } from '../paths.ts';
import { problems } from '../problems.ts';
import { relations, templateRelations } from './relations.ts';

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (character) => escapes[character] as string);
const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** Text whose `words in backticks` are code. */
const prose = (text: string): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2530;--soft:#5b6876;--line:#dde3ea;--code:#f0f3f6;--link:#0b62a8;--back:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e4e9ef;--soft:#9aa7b4;--line:#333d48;--code:#222a33;--link:#7cb8ee;--back:#14191f}}
body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--back)}
code,pre{background:var(--code);border-radius:.25em;font-size:.92em}code{padding:.1em .3em}pre{padding:.8rem 1rem;overflow-x:auto}
pre code{padding:0}h1 small{color:var(--soft);font-weight:400}h2{margin-top:2.8rem;border-bottom:2px solid var(--line)}
h3{margin:2rem 0 .3rem}h3 code{font-weight:400}nav a{margin-right:1rem;white-space:nowrap}a{color:var(--link)}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid var(--line)}
td:first-child,th:first-child{padding-left:0;white-space:nowrap}th{color:var(--soft);font-weight:600}.soft{color:var(--soft)}`;

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body>
${body}
</body></html>\n`;
}

const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<table><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr>
${rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n')}</table>`;

/** The pages may stand under a base with a path of its own, so their links are absolute. */
const absolute = (base: string, path: string): string => escapeHtml(base + path);

export function problemPage(name: string, status: number, title: string, help: string, base: string): string {
  return page(
    title,
    `<p class="soft">Status ${status}, ${code(name)}</p>
<h1>${escapeHtml(title)}</h1><p>${prose(help)}</p>
<p><a href="${absolute(base, paths.serviceDocumentation.href({}))}">Waypost documentation</a></p>`,
  );
}

/** What a browser shows at the root: the links of the document, with what they lead to. */
export function rootPage(links: readonly Link[], version: string, base: string): string {
  const help = new Map(Object.entries(relations));
  const rows = links
    .filter(({ rel }) => rel !== 'self')
    .map(({ rel, href }) => [`<a href="${absolute(base, href)}">${escapeHtml(rel)}</a>`, prose(help.get(rel) ?? '')]);
  return page(
    'Waypost',
    `<h1>Waypost <small>${escapeHtml(version)}</small></h1>
<p>This is the one address to know; everything else is reached from here by links. The
<a href="${absolute(base, paths.serviceDocumentation.href({}))}">documentation</a> shows how. Programs that ask for
<code>application/json</code> or <code>application/xml</code> get the same links.</p>
${table(['Relation', 'Leads to'], rows)}`,
  );
}

const anchorOf = (text: string): string => text.toLowerCase().replace(/[^a-z]+/g, '-');

/** `base` is the address under which the reader sees the service. */
export function documentationPage(routes: readonly Route[], version: string, base: string): string {
  const areas = Map.groupBy(routes, ({ area }) => area);
  const headings = ['Try it', 'Relations', ...areas.keys(), 'Problems'];
  const sections = [...areas].map(
    ([area, members]) => heading(area) + members.map((route) => routeSection(route, base)).join('\n'),
  );
  const kinds = Object.entries(problems).map(([name, [status, title, help]]) => [
    String(status),
    `<a href="${absolute(base, paths.problem.href({ code: name }))}">${escapeHtml(title)}</a>`,
    prose(help),
  ]);
  return page(
    'Waypost',
    `<h1>Waypost <small>${escapeHtml(version)}</small></h1>
<p>Clients know one address, <a href="${escapeHtml(base)}/">${escapeHtml(base)}/</a>, and follow links by their relations.
Links stand in the <code>Link</code> field of answers and in the bodies of documents. The addresses below are shown for
orientation; do not build them. For programs there is an <a href="${absolute(base, paths.serviceDescription.href({}))}">OpenAPI description</a>.</p>
<nav>${headings.map((name) => `<a href="#${anchorOf(name)}">${escapeHtml(name)}</a>`).join('')}</nav>
${heading('Try it')}<pre><code>${escapeHtml(tryIt(base))}</code></pre>
${heading('Relations')}${table(['Relation', 'Leads to'], relationRows())}
${sections.join('\n')}
${heading('Problems')}<p>Failures are answered as <code>application/problem+json</code> (RFC 9457), or <code>+xml</code>.</p>
${table(['Status', 'Problem', 'What to do'], kinds)}`,
  );
}

const heading = (name: string): string => `<h2 id="${anchorOf(name)}">${escapeHtml(name)}</h2>\n`;

function relationRows(): string[][] {
  const templates = Object.entries(templateRelations).map(([name, help]) => [name, `${help} (in \`Link-Template\`)`]);
  return [...Object.entries(relations), ...templates].map(([name = '', help = '']) => [code(name), prose(help)]);
}

function tryIt(base: string): string {
  const queue = base + paths.destination.queue.href({ name: 'greetings' });
  const topic = base + paths.destination.topic.href({ name: 'news' });
  return [
    '# post a message; the queue comes into being with it',
    `curl -i -H 'Content-Type: text/plain' -d 'hello' ${queue}`,
    '# take it; wait up to 20 seconds for one',
    `curl -i -X POST -H 'Accept-Wait: 20' ${base}${paths.receiving.href({ name: 'greetings' })}`,
    '# the links of the queue: everything else that can be done with it',
    `curl -I ${queue}`,
    '# a topic: everyone reads everything',
    `curl -i -H 'Content-Type: text/plain' -d 'it works' ${topic}`,
    `curl -i ${base}${paths.last.href({ name: 'news' })}`,
  ].join('\n');
}

function routeSection(route: Route, base: string): string {
  const rows = Object.entries(route.operations).map(([method, operation]) => [
    code(method),
    [escapeHtml(operation.summary), ...inputsOf(operation)].join('<br>'),
    [...answersOf(operation), ...problemsOf(operation, base)].join('<br>'),
  ]);
  return `<h3>${escapeHtml(route.title)} ${code(route.resource.template)}</h3>
<p class="soft">${escapeHtml(allowedMethods(route))}</p>
${table(['Method', 'What it does', 'Answers'], rows)}`;
}

function inputsOf({ query = {}, headers = {}, accepts = [], input }: Operation): string[] {
  const fields = Object.keys((input?.schema.properties as object | undefined) ?? {});
  const types = accepts.map((type) => (type === '*' ? 'any content' : type));
  return [
    ...Object.entries(query).map(([name, { help }]) => `${code(`?${name}=`)} ${escapeHtml(help)}`),
    ...Object.entries(headers).map(([name, help]) => `${code(`${name}:`)} ${escapeHtml(help)}`),
    ...(types.length === 0 ? [] : [`<span class="soft">Body: ${escapeHtml(types.join(', '))}</span>`]),
    ...(fields.length === 0 ? [] : [`<span class="soft">Fields:</span> ${fields.map(code).join(' ')}`]),
  ];
}

const answersOf = ({ answers }: Operation): string[] =>
  Object.entries(answers).map(([status, meaning]) => `${status} ${escapeHtml(meaning)}`);

const problemsOf = ({ problems: codes = [] }: Operation, base: string): string[] =>
  codes.map(
    (name) => `<a href="${absolute(base, paths.problem.href({ code: name }))}">${problems[name][0]} ${name}</a>`,
  );
