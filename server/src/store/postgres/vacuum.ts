/**
 * Vacuums the narrow tables far more often than the server would by itself: every message leaves dead rows in them,
 * and a claim that has to pass thousands of those gets slower by the second.
 */
import type { Link } from './link.ts';

const PAUSE = 3_000;
/** A vacuum that takes long, because the tables are large, is run less often. */
const SHARE_OF_TIME = 10;

export interface Vacuum {
  stop(): Promise<void>;
}

/** One run. A table that another node is vacuuming is passed over. */
export async function vacuumNarrowTables(link: Link): Promise<void> {
  await link.query('VACUUM (TRUNCATE off, INDEX_CLEANUP on, SKIP_LOCKED) delivery, topic_position, once_chain');
}

/** `traffic` counts what was sent; without new traffic there is nothing to clean. */
export function startVacuum(link: Link, traffic: () => number, failed: (error: unknown) => void): Vacuum {
  let seen = traffic();
  let running: Promise<void> | undefined;
  let stopped = false;
  let timer = setTimeout(run, PAUSE);
  timer.unref();

  function run(): void {
    const started = performance.now();
    const count = traffic();
    const idle = count === seen;
    seen = count;
    running = (idle ? Promise.resolve() : vacuumNarrowTables(link))
      .catch((error) => {
        if (!stopped) failed(error);
      })
      .finally(() => {
        running = undefined;
        if (stopped) return;
        timer = setTimeout(run, Math.max(PAUSE, (performance.now() - started) * SHARE_OF_TIME));
        timer.unref();
      });
  }

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      link.drop();
      await running;
      await link.close();
    },
  };
}
