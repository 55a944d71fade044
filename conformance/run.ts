import { describe } from 'node:test';
import { parseArgs } from 'node:util';
import { declareSuite } from './suite.ts';

// `npm run conformance -- --base-url URL`: judges a running service by what it answers. Several URLs are nodes of one
// service; requests are then spread over them. The exit code is 0 when every test passed.

const USAGE = 'Usage: npm run conformance -- --base-url URL [--base-url URL ...]';

function baseUrls(): string[] {
  const { values } = parseArgs({ options: { 'base-url': { type: 'string', multiple: true, default: [] } } });
  const urls = values['base-url'];
  if (urls.length === 0) throw new Error('name the service to be judged');
  return urls.map((given) => {
    const url = URL.canParse(given) ? new URL(given) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol)) throw new Error(`not an http(s) URL: ${given}`);
    return `${url.origin}${url.pathname.replace(/\/$/, '')}`;
  });
}

let bases: string[] = [];
try {
  bases = baseUrls();
} catch (error) {
  console.error(`${(error as Error).message}\n${USAGE}`);
  process.exit(2);
}

describe(`Waypost at ${bases.join(' and ')}`, () => declareSuite(() => bases));
