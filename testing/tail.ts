/** The newest part of a stream of output, bounded. */
export type Tail = { add(chunk: Buffer | string): void; text(): string };

/** Keeps the last `limit` characters of what is added, so that a chatty process cannot fill the memory. */
export function tailOf(limit: number): Tail {
  let kept = '';
  return {
    add: (chunk) => {
      kept += chunk.toString();
      // Cutting at twice the limit only, so that not every small chunk copies the whole text.
      if (kept.length > 2 * limit) kept = kept.slice(-limit);
    },
    text: () => kept.slice(-limit),
  };
}
