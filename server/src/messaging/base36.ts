/** Whole numbers as words of digits and small letters. The runtime does the same, ten times as slowly beyond 2^31. */

const HALF = 36 ** 5;
const DIGIT_ZERO = 0x30;
const LETTERS_BEFORE_TEN = 0x57;

/** For numbers from 0 to 2^53. */
export function toBase36(number: number): string {
  if (number < HALF) return number.toString(36);
  // Both halves are small, and small numbers are written fast.
  const high = Math.floor(number / HALF);
  const low = number - high * HALF;
  return high.toString(36) + (low + HALF).toString(36).slice(1);
}

/** What a word stands for that has nothing but digits and small letters in it. */
export function fromBase36(word: string): number {
  let number = 0;
  for (let i = 0; i < word.length; i++) {
    const code = word.charCodeAt(i);
    number = number * 36 + (code < 0x3a ? code - DIGIT_ZERO : code - LETTERS_BEFORE_TEN);
  }
  return number;
}
