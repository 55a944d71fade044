/**
 * fast-check as the tests use it: the same cases every time, so that a test that fails says something of the change and not
 * of chance. `WAYPOST_SEED` is another seed, or `random` to look where nobody has looked yet.
 */
import fc from 'fast-check';

const USUAL_SEED = 1;
const wanted = process.env.WAYPOST_SEED ?? String(USUAL_SEED);

if (wanted !== 'random') fc.configureGlobal({ seed: Number.parseInt(wanted, 10) });

export { fc };
