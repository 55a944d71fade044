/** Names that were meant to be others: slips of the pen. */

/** The name that is the fewest edits away, if that is near enough to be a slip. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const ranked = names.map((name) => ({ name, edits: editDistance(given, name) })).sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best !== undefined && best.edits <= Math.max(2, best.name.length / 3) ? best.name : undefined;
}

/** A name without what people write now so, now so: delay-seconds, delay_seconds, DelaySeconds. */
export const bare = (name: string): string => name.toLowerCase().replace(/[-_]/g, '');

/**
 * The name that the given one can hardly be anything but a slip of. Stricter than the nearest: a name that has nothing to
 * do with the known ones must pass.
 */
export function slipOf(given: string, names: readonly string[]): string | undefined {
  const asked = bare(given);
  return names.find((name) => {
    const known = bare(name);
    if (asked === known) return true;
    if (known.length > 3) return editDistance(asked, known) <= (known.length > 5 ? 2 : 1);
    // With another letter a short name is another word: may is not max, but mx and maxx are.
    const isMadeOfIt = asked.length > 1 && [...asked].every((letter) => known.includes(letter));
    return known.length === 3 && isMadeOfIt && editDistance(asked, known) === 1;
  });
}

/** Letters left out, added, changed, or two that changed places. */
function editDistance(a: string, b: string): number {
  // Nobody slips that often, and the work grows with both lengths.
  if (Math.abs(a.length - b.length) > b.length) return b.length;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? (before[j - 2] as number) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(change, swap, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] as number;
}
