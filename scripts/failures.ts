import { relative } from 'node:path';
import type { TestsStream } from 'node:test';
import { inspect } from 'node:util';

/** Something that failed, as the end of a run names it again. */
export type Failure = {
  /** With the suites around it. */
  name: string;
  /** File and line, where there is one. */
  place?: string;
  error: string;
};

const MOST_LINES = 30;
const MOST_IN_A_LINE = 300;
/** Beyond that many only names are told: the end of a run has to stay short enough to be read. */
const MOST_ERRORS = 20;

type Reported = { name: string; nesting: number; file?: string; line?: number };

/** Gathers what fails while tests run. The list grows until the run has ended. */
export function gatherFailures(events: TestsStream, root: string): Failure[] {
  const failures: Failure[] = [];
  // Events of different files do not mix, and a suite starts before what is in it.
  const path: string[] = [];
  const add = ({ name, nesting, file, line }: Reported, error: string): void => {
    const place = file === undefined ? undefined : `${relative(root, file)}${line === undefined ? '' : `:${line}`}`;
    const full = [...path.slice(0, nesting), name].join(' > ');
    failures.push({ name: full, ...(place === undefined ? {} : { place }), error });
  };
  events.on('test:start', ({ name, nesting }) => path.splice(nesting, path.length, name));
  events.on('test:pass', (data) => {
    if (data.skip !== undefined || data.todo !== undefined) add(data, 'it was left out');
  });
  events.on('test:fail', (data) => {
    const { error } = data.details;
    const failure = 'failureType' in error ? error.failureType : undefined;
    // A suite fails with its tests, and they are told; a test whose suite could not even begin has nothing to tell.
    if (failure === 'subtestsFailed') return;
    add(data, failure === 'cancelledByParent' ? '' : messageOf(error));
  });
  return failures;
}

/** What was thrown, without what the runner wraps around it. */
function messageOf(error: Error): string {
  const thrown = error.cause ?? error;
  return typeof thrown === 'string' ? thrown : inspect(thrown, { colors: false });
}

/** The end of the output: all that failed, each with the beginning of its error. */
export function tellFailures(failures: readonly Failure[]): string {
  if (failures.length === 0) return '';
  let errors = 0;
  const told = failures.map(({ name, place, error }) => {
    const head = `✖ ${name}${place === undefined ? '' : `\n  at ${place}`}`;
    return error !== '' && errors++ < MOST_ERRORS ? `${head}\n${shortened(error)}` : head;
  });
  return `Failed:\n\n${told.join('\n\n')}\n`;
}

function shortened(error: string): string {
  const lines = error.split('\n');
  const shown = lines.slice(0, MOST_LINES).map((line) => `  ${line.slice(0, MOST_IN_A_LINE)}`.trimEnd());
  if (lines.length > MOST_LINES) shown.push(`  (${lines.length - MOST_LINES} more lines)`);
  return shown.join('\n');
}
