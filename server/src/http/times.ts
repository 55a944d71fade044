/** Times in bodies and fields: RFC 3339, UTC. */

/** The last second that was written: most times of a moment share it, and writing a date is dear. */
let second = Number.NaN;
let written = '';

export function timeOf(milliseconds: number): string {
  const whole = Math.floor(milliseconds / 1000);
  if (whole !== second) {
    written = new Date(whole * 1000).toISOString().slice(0, -'000Z'.length);
    second = whole;
  }
  return `${written}${String(Math.floor(milliseconds - whole * 1000)).padStart(3, '0')}Z`;
}
