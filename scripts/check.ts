import { runStages } from './checks/stages.ts';

// `npm run check`: everything that can be said about the code without running it.
const { passed, failed } = await runStages(new AbortController().signal);
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
