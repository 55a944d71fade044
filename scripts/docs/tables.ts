/** Tables of the documentation that are made from the tables the service runs by. */
import { settings, variableOf } from '../../server/src/config.ts';
import { withheldFields } from '../../server/src/messaging/forwarded-fields.ts';
import { type DestinationKind, effectiveSettings, settingsOf } from '../../server/src/messaging/settings.ts';
import { problems } from '../../server/src/problems.ts';
import { relations, templateRelations } from '../../server/src/service/relations.ts';

const tables: Readonly<Record<string, () => string[][]>> = {
  flags: () => [
    ['Flag', 'Variable', 'Default', 'Meaning'],
    ...Object.entries(settings).map(([name, setting]) => [
      code(`--${name} ${setting.value}`),
      code(variableOf(name)),
      defaultOf(setting.default),
      setting.help,
    ]),
  ],
  'withheld fields': () => [
    ['Not handed on', 'Because it is'],
    ...Object.entries(withheldFields).map(([reason, names]) => [names.map(code).join(' '), reason]),
  ],
  problems: () => [
    ['Status', 'Last part of `type`', 'Title', 'What to do'],
    ...Object.entries(problems)
      .map(([name, [status, title, help]]) => [String(status), code(name), title, help])
      .sort(([a = ''], [b = '']) => a.localeCompare(b)),
  ],
  relations: () => [
    ['Relation', 'Leads to'],
    ...Object.entries(relations).map(([name, help]) => [code(name), help]),
    ...Object.entries(templateRelations).map(([name, help]) => [code(name), `${help} (in \`Link-Template\`)`]),
  ],
  'queue settings': () => settingsTable('queue'),
  'topic settings': () => settingsTable('topic'),
};

export const tableNames: readonly string[] = Object.keys(tables);

function settingsTable(kind: DestinationKind): string[][] {
  const defaults = effectiveSettings(kind, '<name>', {}, false) as unknown as Record<string, unknown>;
  return [
    ['Setting', 'Default', 'May be', 'Meaning'],
    ...settingsOf(kind).map(([name, { kind: value, help }]) => [
      code(name),
      defaultOf(defaults[name]),
      value.expected,
      help,
    ]),
  ];
}

const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;

function defaultOf(value: unknown): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'none';
  return code(String(value));
}

function format(rows: readonly string[][]): string {
  const [head = [], ...body] = rows;
  const lines = [head, head.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`);
  return lines.join('\n');
}

const PLACE = /(<!-- table: ([a-z ]+) -->\n)[\s\S]*?(<!-- end of table -->)/g;

/** The names of the tables that a page shows. */
export const tablesIn = (markdown: string): string[] => [...markdown.matchAll(PLACE)].map((match) => match[2] ?? '');

/** The page with its tables as they are to be. */
export function withTables(markdown: string): string {
  return markdown.replace(PLACE, (_, start: string, name: string, end: string) => {
    const table = tables[name];
    if (table === undefined) throw new Error(`There is no table "${name}"; known are ${tableNames.join(', ')}.`);
    return `${start}${format(table())}\n${end}`;
  });
}
