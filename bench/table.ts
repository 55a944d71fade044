/** The figures as a table, and as data. */
import { type Figure, isReached, type Scenario, type Target } from './scenario.ts';

export interface Outcome {
  readonly scenario: Scenario;
  readonly figures: readonly Figure[];
  /** Why there are no figures. */
  readonly error?: string;
}

export interface Line {
  readonly scenario: string;
  readonly label: string;
  readonly value: number | null;
  readonly unit: Figure['unit'] | null;
  readonly target: string | null;
  /** null: there is nothing to reach. */
  readonly reached: boolean | null;
  readonly detail: string;
}

export function linesOf(outcomes: readonly Outcome[]): Line[] {
  return outcomes.flatMap(({ scenario: { name, target }, figures, error }): Line[] => {
    if (error !== undefined) {
      return [
        {
          scenario: name,
          label: '',
          value: null,
          unit: null,
          target: target?.text ?? null,
          reached: false,
          detail: error,
        },
      ];
    }
    return figures.map((figure) => lineOf(name, target, figure));
  });
}

function lineOf(scenario: string, target: Target | undefined, { label, value, unit, detail, judged }: Figure): Line {
  const goal = judged === false ? undefined : target;
  const reached = goal === undefined ? null : isReached(goal, value);
  return { scenario, label, value, unit, target: goal?.text ?? null, reached, detail };
}

/** A figure in one line, for whoever follows a run. */
export function summaryOf({ label, value, unit, reached, target, detail }: Line): string {
  const figure = value === null ? 'failed' : written(value, unit);
  const verdict = reached === null ? '' : ` (${target}: ${reached ? 'yes' : 'NO'})`;
  return `${label === '' ? '' : `${label}: `}${figure}${verdict}; ${detail}`;
}

const HEADINGS = ['scenario', 'figure', 'target', 'reached', 'from'];

/** Columns as wide as they need to be; the last is as long as it is. */
export function tableOf(lines: readonly Line[]): string {
  const rows = lines.map(({ scenario, label, value, unit, target, reached, detail }) => [
    label === '' ? scenario : `${scenario}, ${label}`,
    value === null ? 'failed' : written(value, unit),
    target ?? '',
    reached === null ? '' : reached ? 'yes' : 'NO',
    detail,
  ]);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const text = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(column === HEADINGS.length - 1 ? 0 : (widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [text(HEADINGS), text(HEADINGS.map((heading) => '-'.repeat(heading.length))), ...rows.map(text)].join('\n');
}

function written(value: number, unit: Figure['unit'] | null): string {
  if (unit === 'ratio' || unit === null) return value.toFixed(2);
  if (unit === '/s') return `${Math.round(value).toLocaleString('en')}/s`;
  return `${value.toFixed(unit === 'MiB' ? 0 : 1)} ${unit}`;
}
