/** The body of a message follows from its key, so that whoever gets one can tell whether it is whole. */
const SIZES = [0, 10, 100, 1000, 5000, 40_000];

export function bodyOf(key: string): string {
  let sum = 0;
  for (let i = 0; i < key.length; i++) sum = (Math.imul(sum, 31) + key.charCodeAt(i)) >>> 0;
  sum = Math.imul(sum ^ (sum >>> 15), 0x9e3779b1) >>> 0;
  // Large ones are rare, as in the field, and still cross every border of pages and packets.
  const size = SIZES[Math.min(Math.clz32(sum), SIZES.length - 1)] ?? 0;
  return `${key}\n${String.fromCharCode(97 + (sum % 26)).repeat(size)}`;
}

/** The key of a whole body; undefined when it is not what was sent. */
export function keyOf(body: string): string | undefined {
  const key = body.slice(0, body.indexOf('\n'));
  return key !== '' && bodyOf(key) === body ? key : undefined;
}
