import { setTimeout as pause } from 'node:timers/promises';

/**
 * Looks again and again until the check gives something other than undefined or false, for things that give no signal
 * (another process, the file system). An error after the time given, in milliseconds.
 */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  within = 30_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + within;
  for (;;) {
    const result = await check();
    if (result !== undefined && result !== null && result !== false) return result as NonNullable<T>;
    if (performance.now() > deadline) throw new Error(`Not within ${within / 1000} s: ${what}`);
    await pause(20);
  }
}
