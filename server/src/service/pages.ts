/** Plain pages for people, made from the tables the service runs by. */
import { allowedMethods, type Route } from '../http/operation.ts';
import { paths } from '../paths.ts';
import { problems } from '../problems.ts';

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (character) => escapes[character] as string);

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2530}
code{background:#f0f3f6;padding:.1em .3em;border-radius:.2em}h2{margin-top:2.5rem}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid #dde3ea}a{color:#0b62a8}`;

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${STYLE}</style><body>${body}</body></html>\n`;
}

/** The pages may stand under a base with a path of its own, so their links are absolute. */
const absolute = (base: string, path: string): string => escapeHtml(base + path);

export function problemPage(code: string, status: number, title: string, help: string, base: string): string {
  const back = `<p><a href="${absolute(base, paths.serviceDocumentation.href({}))}">Waypost documentation</a></p>`;
  return page(
    title,
    `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(help)}</p><p>Status ${status}, <code>${code}</code></p>${back}`,
  );
}

export function documentationPage(routes: readonly Route[], version: string, base: string): string {
  const areas = new Map<string, Route[]>();
  for (const route of routes) areas.set(route.area, [...(areas.get(route.area) ?? []), route]);
  const sections = [...areas].map(
    ([area, members]) => `<h2>${escapeHtml(area)}</h2>${members.map(routeSection).join('')}`,
  );
  const kinds = Object.entries(problems).map(
    ([code, [status, title, help]]) =>
      `<tr><td>${status}</td><td><a href="${absolute(base, paths.problem.href({ code }))}">${escapeHtml(title)}</a></td><td>${escapeHtml(help)}</td></tr>`,
  );
  return page(
    'Waypost',
    `<h1>Waypost ${escapeHtml(version)}</h1>
<p>Clients know one address, <a href="${escapeHtml(base)}/">${escapeHtml(base)}/</a>, and follow links. The addresses below are
shown for orientation; do not build them. A machine-readable description is
<a href="${absolute(base, paths.serviceDescription.href({}))}">here</a>.</p>
${sections.join('')}
<h2>Problems</h2><table><tr><th>Status</th><th>Problem</th><th>What to do</th></tr>${kinds.join('')}</table>`,
  );
}

function routeSection(route: Route): string {
  const rows = Object.entries(route.operations).map(([method, operation]) => {
    const answers = Object.entries(operation.answers).map(([status, meaning]) => `${status} ${escapeHtml(meaning)}`);
    const query = Object.entries(operation.query ?? {}).map(
      ([name, { help }]) => `<code>?${name}</code> ${escapeHtml(help)}`,
    );
    return `<tr><td><code>${method}</code></td><td>${escapeHtml(operation.summary)}${query.map((q) => `<br>${q}`).join('')}</td>
<td>${answers.join('<br>')}</td></tr>`;
  });
  return `<h3>${escapeHtml(route.title)} <code>${escapeHtml(route.resource.template)}</code></h3>
<table><tr><th>${escapeHtml(allowedMethods(route))}</th><th></th><th>Answers</th></tr>${rows.join('')}</table>`;
}
