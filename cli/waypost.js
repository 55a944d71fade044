#!/usr/bin/env node
// The machine's own Node may be too old for Waypost, which therefore brings the right one along as a package. This file is
// the only one that has to run on any Node.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const program = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
const child = spawn(program, [join(here, 'waypost.ts'), ...process.argv.slice(2)], { stdio: 'inherit' });

// The service decides when it ends; a terminal sends it SIGINT by itself.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('error', (error) => {
  console.error(`waypost: ${error.message}`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 128);
});
