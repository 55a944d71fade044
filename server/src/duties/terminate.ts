/** Carries out bulk terminations that clients did not wait for. Any node may do the next piece of any of them. */
import type { ConsumerArea } from '../consumers/consumers.ts';
import type { Duty } from './duties.ts';

/** How soon a job of a node that has died is gone on with. */
const EVERY = 5000;

export function createTerminator({ bulk }: Pick<ConsumerArea, 'bulk'>): Duty {
  return async () => ((await bulk.step()) ? 0 : EVERY);
}
