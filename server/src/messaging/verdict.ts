/**
 * What a receiver may say of a delivery (A15), read from a form, JSON or XML. As in every document a field that is wrong is 422;
 * a body that says nothing of the delivery is 400.
 */
import { boolean, type Kind, secondsUpTo } from '../kinds.ts';
import { Problem, pointerTo, shown } from '../problems.ts';
import { slipOf } from '../slips.ts';
import type { Verdict } from './usecases/receiving.ts';

/** Seconds: what can be asked for at a time. */
export const LONGEST_LEASE = 7 * 86_400;
export const LONGEST_DELAY = 365 * 86_400;
const extension = secondsUpTo(LONGEST_LEASE, { above: 0 });
const delay = secondsUpTo(LONGEST_DELAY);

const NAMES = ['acknowledge', 'extend', 'delay'];

const saysSomething = ({ acknowledge, extend }: Readonly<Record<string, unknown>>): boolean =>
  acknowledge !== undefined || extend !== undefined;

/** A delay that is misspelt would not happen, and nobody would know. */
function refuseSlips(fields: Readonly<Record<string, unknown>>): void {
  for (const given of Object.keys(fields)) {
    const meant = NAMES.includes(given) ? undefined : slipOf(given, NAMES);
    if (meant === undefined) continue;
    const detail = `is not known here; ${meant} is`;
    const code = saysSomething(fields) ? 'invalid' : 'bad-body';
    throw new Problem(code, `${shown(given)} ${detail}`, { errors: [{ pointer: pointerTo(given), detail }] });
  }
}

export function readVerdict(fields: Readonly<Record<string, unknown>>): Verdict {
  refuseSlips(fields);
  const acknowledge = read('acknowledge', boolean);
  const by = read('extend', extension);
  const later = read('delay', delay);
  if ((acknowledge === undefined) === (by === undefined)) {
    throw new Problem(
      saysSomething(fields) ? 'invalid' : 'bad-body',
      'send either acknowledge=true, acknowledge=false (with an optional delay) or extend=SECONDS',
    );
  }
  if (later !== undefined && acknowledge !== false) {
    const detail = 'goes with acknowledge=false only';
    throw new Problem('invalid', `delay ${detail}`, { errors: [{ pointer: '/delay', detail }] });
  }
  if (by !== undefined) return { kind: 'extend', by };
  return acknowledge ? { kind: 'acknowledge' } : { kind: 'return', delay: later ?? 0 };

  function read<T>(name: string, kind: Kind<T>): T | undefined {
    const given = fields[name];
    if (given === undefined) return undefined;
    const value = ['string', 'number', 'boolean'].includes(typeof given) ? kind.read(String(given)) : undefined;
    if (value !== undefined) return value;
    const detail = `must be ${kind.expected}`;
    throw new Problem('invalid', `${name} ${detail}`, { errors: [{ pointer: `/${name}`, detail }] });
  }
}
