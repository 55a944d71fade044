/** Opens what all areas stand on: the store, this node's place among others, and the way out. */
import { readFileSync } from 'node:fs';
import type { Ground } from './area.ts';
import type { Options } from './config.ts';
import { createLocalUris } from './http/base-url.ts';
import type { Listener } from './http/listener.ts';
import { LOOPBACK } from './http/outbound/addresses.ts';
import { createOutbound } from './http/outbound/outbound.ts';
import { createSealer } from './ids.ts';
import type { Logger } from './log.ts';
import { createNodes, type Nodes } from './nodes/nodes.ts';
import { isOtherRunning, placeOf } from './nodes/place.ts';
import { openStore } from './store/open.ts';

export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

export const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);

export interface OpenGround extends Ground {
  readonly nodes: Nodes;
  /** By performance.now(). */
  readonly startedAt: number;
}

/** `listener` listens for this service. */
export async function openGround(options: Options, log: Logger, listener: Listener): Promise<OpenGround> {
  const startedAt = performance.now();
  const location = { database: options.database, folder: options.data, reserveBytes: options['disk-reserve'] };
  const store = await openStore(location, (event, details) => log.warn(details ?? {}, event));
  const { addresses, port } = listener;
  const nodes = createNodes({
    store,
    place: () => placeOf(options.host, port),
    isOtherRunning,
    // Only one process at a time opens the embedded store.
    isAlone: store.engine === 'sqlite',
    onError: (error) => log.error({ err: error }, 'this node could not say that it is alive'),
  });
  return {
    version: VERSION,
    options,
    log,
    store,
    sealer: createSealer(store.secret),
    nodes,
    startedAt,
    membership: nodes.membership,
    outbound: createOutbound({
      allow: [...options['outbound-allow'], ...(isLoopback(options.host) ? LOOPBACK : [])],
      isOwn: (host) => addresses.some((address) => new URL(address).host === host),
    }),
    ownAddress: () => addresses[0] ?? '',
    localPath: createLocalUris(options['base-url'], () => addresses),
  };
}
