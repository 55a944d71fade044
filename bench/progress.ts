/** Says what is going on: on a terminal in one line that changes, elsewhere a line for each scenario. */
import type { WriteStream } from 'node:tty';

export interface Progress {
  begin(title: string): void;
  note(text: string): void;
  /** What came of it, to be shown at once: whoever waits for the rest has something to read. */
  end(figures: readonly string[]): void;
}

/** Notes come faster than anyone reads. */
const SHOW_EVERY = 100;

export function createProgress(out: WriteStream): Progress {
  let title = '';
  let begun = 0;
  let shown = 0;
  const rewrite = (text: string): void => {
    out.write(`\r\u001b[K${text.slice(0, Math.max(20, (out.columns ?? 80) - 1))}`);
  };
  return {
    begin(next) {
      title = next;
      begun = performance.now();
      if (!out.isTTY) out.write(`${title} …`);
    },
    note(text) {
      if (!out.isTTY || performance.now() - shown < SHOW_EVERY) return;
      shown = performance.now();
      rewrite(`${title}: ${text}`);
    },
    end(figures) {
      const seconds = ((performance.now() - begun) / 1000).toFixed(0);
      if (out.isTTY) rewrite(`${title}: ${seconds} s\n`);
      else out.write(` ${seconds} s\n`);
      for (const figure of figures) out.write(`    ${figure}\n`);
    },
  };
}
