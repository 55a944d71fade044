/** How long a client is willing to wait (A9). */

import type { Request } from '../../http/request.ts';
import { seconds } from '../../kinds.ts';
import { Problem } from '../../problems.ts';

/** Accept-Wait, or Prefer: wait. Longer than the cap is cut to it: it is a hint. */
export function readWait(request: Request, cap: number): number {
  const given = request.headers['accept-wait'];
  if (given === undefined) return Math.min(request.prefer.wait ?? 0, cap);
  const wait = typeof given === 'string' ? seconds.read(given.trim()) : undefined;
  if (wait === undefined) {
    const detail = `must be ${seconds.expected}`;
    throw new Problem('bad-header', `Accept-Wait ${detail}`, { errors: [{ header: 'Accept-Wait', detail }] });
  }
  return Math.min(wait, cap);
}

export const waitHeaders = {
  'Accept-Wait': 'seconds to wait when there is no message (Prefer: wait is a synonym)',
} as const;
