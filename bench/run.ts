/** `npm run bench`: measures Waypost against a yardstick in the same run, and says which targets were reached. */
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { openRun } from './context.ts';
import { createProgress } from './progress.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios/index.ts';
import { linesOf, type Outcome, summaryOf, tableOf } from './table.ts';

const USAGE = `Usage: npm run bench -- [flags]

  --only NAME …     only these scenarios (the flag may also be repeated)
  --quick           smaller sizes and fewer rounds: about a minute, rough figures
  --json FILE       the figures as JSON, too
  --profile FOLDER  a CPU profile of every Waypost that is started
  --help

Scenarios:
${scenarios.map(({ name, about }) => `  ${name.padEnd(16)}  ${about}`).join('\n')}
`;

/** A machine whose load exceeds this share of its cores has other things to do. */
const BUSY_SHARE = 0.5;

const { values, positionals } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    profile: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
  allowPositionals: true,
});

if (values.help) process.stdout.write(USAGE);
else process.exitCode = await main([...(values.only ?? []), ...positionals]);

/** The exit code: 0 also when a target was missed, since other work on the machine may be the reason; 1 when one failed. */
async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !scenarios.some((scenario) => scenario.name === name));
  if (unknown.length > 0) {
    process.stderr.write(`There is no scenario named ${unknown.join(', ')}.\n\n${USAGE}`);
    return 2;
  }
  const chosen = scenarios.filter(({ name }) => names.length === 0 || names.includes(name));
  const cores = availableParallelism();
  const [loadBefore = 0] = loadavg();
  const outcomes = await runAll(chosen);
  const lines = linesOf(outcomes);
  process.stdout.write(`\n${tableOf(lines)}\n`);
  if (loadBefore > cores * BUSY_SHARE) {
    process.stdout.write(
      `\nOther work was running (load ${loadBefore.toFixed(1)} on ${cores} cores). It slows the disk and takes cores from the servers: repeat on a quiet machine.\n`,
    );
  }
  if (values.json !== undefined) {
    const machine = { cores, cpu: cpus()[0]?.model, loadBefore, node: process.version };
    const report = { at: new Date().toISOString(), quick: values.quick, machine, figures: lines };
    writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return outcomes.some(({ error }) => error !== undefined) ? 1 : 0;
}

async function runAll(chosen: readonly Scenario[]): Promise<Outcome[]> {
  const progress = createProgress(process.stdout);
  const run = openRun({ quick: values.quick, profile: values.profile, note: progress.note });
  const outcomes: Outcome[] = [];
  try {
    for (const [index, scenario] of chosen.entries()) {
      progress.begin(`[${index + 1}/${chosen.length}] ${scenario.name}`);
      const { context, end } = run.begin();
      const outcome = await scenario.run(context).then(
        (figures): Outcome => ({ scenario, figures }),
        (error: Error): Outcome => ({ scenario, figures: [], error: error.message }),
      );
      await end();
      outcomes.push(outcome);
      progress.end(linesOf([outcome]).map(summaryOf));
    }
  } finally {
    await run.close();
  }
  return outcomes;
}
