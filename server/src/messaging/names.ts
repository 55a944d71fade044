/** Names of destinations and client-chosen message ids (G10). */
import { Problem } from '../problems.ts';

const ALLOWED = /^[A-Za-z0-9._~-]{1,250}$/;

export function checkName(name: string, what: 'destination name' | 'message id'): string {
  if (ALLOWED.test(name) && name !== '.' && name !== '..') return name;
  throw new Problem(
    'bad-name',
    `a ${what} has 1 to 250 characters of A-Z a-z 0-9 . _ ~ - and is not "." or ".."; this one ${reason(name)}`,
  );
}

function reason(name: string): string {
  if (name.length > 250) return `has ${name.length}`;
  return name === '' ? 'is empty' : `is ${JSON.stringify(name)}`;
}
