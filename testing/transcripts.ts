/**
 * Documentation that is run. In a code block of language `console`, a line that begins with `$ ` is a command, lines
 * that begin with `> ` right after it continue it, and what follows is what it prints. Where commands are to be pasted,
 * a block `sh run` holds nothing but commands, a line each, and a block `text printed` after it what the last one prints.
 * In the expected output `…` stands for anything within a line, and a line that is nothing but `…` for any number of lines.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

/** One command of a page and what it is to print. */
export type Step = { line: number; command: string; expected: string[] };

export type TranscriptOptions = {
  /** The running service, as `http://127.0.0.1:PORT`. */
  base: string;
  /** Where the commands run and may leave files. */
  folder: string;
};

/** The address that the pages show. */
const SHOWN = 'localhost:8080';
const WILD = '…';
const TO_PASTE = 'sh run';
const PRINTED = 'text printed';
const STEP_TIMEOUT = 30_000;

/** The commands of a page, in order. */
export function readTranscript(markdown: string): Step[] {
  const steps: Step[] = [];
  let fence: string | undefined;
  /** The command whose output may follow. */
  let step: Step | undefined;
  for (const [index, text] of markdown.split('\n').entries()) {
    const mark = /^(?:`{3,}|~{3,})\s*(.*?)\s*$/.exec(text);
    if (mark && fence === undefined) {
      fence = mark[1] ?? '';
      if (fence !== PRINTED) step = undefined;
    } else if (mark) fence = undefined;
    else if (fence === TO_PASTE || (fence === 'console' && text.startsWith('$ '))) {
      step = { line: index + 1, command: fence === TO_PASTE ? text : text.slice(2), expected: [] };
      steps.push(step);
    } else if (fence === 'console' || fence === PRINTED) {
      if (step === undefined) throw new Error(`Line ${index + 1} of a ${fence} block belongs to no command.`);
      const continues = fence === 'console' && text.startsWith('> ') && step.expected.length === 0;
      if (continues) step.command += `\n${text.slice(2)}`;
      else step.expected.push(text);
    }
  }
  return steps;
}

/** Whether the lines are as expected, wildcards taken into account. */
export function isAsExpected(expected: readonly string[], actual: readonly string[]): boolean {
  const [first, ...rest] = expected;
  if (first === undefined) return actual.length === 0;
  if (first !== WILD) return actual[0] !== undefined && fits(first, actual[0]) && isAsExpected(rest, actual.slice(1));
  for (let skipped = 0; skipped <= actual.length; skipped++) {
    if (isAsExpected(rest, actual.slice(skipped))) return true;
  }
  return false;
}

function fits(expected: string, actual: string): boolean {
  const pattern = expected.split(WILD).map(RegExp.escape).join('.*');
  return new RegExp(`^${pattern}$`, 's').test(actual);
}

/** Runs the commands in one shell, and throws at the first that fails or prints something else than the page says. */
export async function runTranscript(steps: readonly Step[], { base, folder }: TranscriptOptions): Promise<void> {
  const real = `localhost:${new URL(base).port}`;
  const shell = openShell(folder);
  try {
    for (const { line, command, expected } of steps) {
      const { output, code } = await shell.run(command.replaceAll(SHOWN, real));
      const actual = linesOf(output.replaceAll(real, SHOWN));
      if (code === 0 && isAsExpected(linesOf(expected.join('\n')), actual)) continue;
      const reason = code === 0 ? 'printed something else than the page says' : `ended with exit code ${code}`;
      const parts = [`line ${line}: ${reason}`, `$ ${command}`, ...actual, '--- expected', ...expected];
      throw new Error(parts.join('\n'));
    }
  } finally {
    shell.end();
  }
}

/** Carriage returns of header fields do not show on a page, nor does an end without a line break. */
function linesOf(output: string): string[] {
  const text = output.replaceAll('\r', '').replace(/\n+$/, '');
  return text === '' ? [] : text.split('\n');
}

type Outcome = { output: string; code: number };

function openShell(folder: string): { run(command: string): Promise<Outcome>; end(): void } {
  const child = spawn('bash', ['--noprofile', '--norc'], {
    cwd: folder,
    // Neither a .curlrc nor a proxy of the developer may change what curl does.
    env: { PATH: process.env.PATH, HOME: folder, LC_ALL: 'C.UTF-8', NO_PROXY: '*' },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  let printed = '';
  let notify = (): void => {};
  const collect = (chunk: Buffer): void => {
    printed += chunk;
    notify();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  let ended = false;
  child.once('close', () => {
    ended = true;
    notify();
  });

  return {
    run(command) {
      const mark = randomUUID();
      printed = '';
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          fail(`did not end within ${STEP_TIMEOUT / 1000} s`);
        }, STEP_TIMEOUT);
        const fail = (what: string): void => {
          clearTimeout(timer);
          notify = () => {};
          reject(new Error(`$ ${command}\n${what}; so far:\n${printed}`));
        };
        notify = () => {
          const end = new RegExp(`^(.*)\n${mark} (\\d+)\n$`, 's').exec(printed);
          if (end === null) {
            if (ended) fail('the shell has ended');
            return;
          }
          clearTimeout(timer);
          notify = () => {};
          resolve({ output: end[1] ?? '', code: Number(end[2]) });
        };
        // A group in the shell itself, so that variables and functions last for the page.
        child.stdin.write(`{ ${command}\n} 2>&1 </dev/null; printf '\\n%s %d\\n' ${mark} $?\n`);
      });
    },
    end() {
      if (child.pid === undefined || ended) return;
      // The group of processes: what a page started in the background ends with it.
      process.kill(-child.pid, 'SIGKILL');
    },
  };
}
