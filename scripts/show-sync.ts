import { request } from '../testing/http.ts';
import { traceCalls } from '../testing/strace.ts';
import { startWaypost } from '../testing/waypost.ts';

// `node scripts/show-sync.ts`: shows, call by call, that a post is synced to the disk between its arrival and its answer,
// and that a volatile one writes nothing.

const waypost = await startWaypost();
await request(`${waypost.url}/queues/shown`, { method: 'PUT' });
for (const path of ['/queues/shown', '/queues/shown?persistent=false']) {
  const trace = await traceCalls(waypost.pid);
  const { status } = await request(waypost.url + path, { method: 'POST', body: 'hello' });
  const calls = await trace.stop();
  console.log(`\nPOST ${path} (${status})`);
  for (const { line, target } of calls)
    if (/socket|TCP|waypost\.db/.test(target)) console.log(`  ${line.slice(0, 160)}`);
}
await waypost.stop();
