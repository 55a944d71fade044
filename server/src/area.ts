/** What areas stand on, and what each of them gives to the service. */
import type { Options } from './config.ts';
import type { Duty } from './duties/duties.ts';
import type { Route } from './http/operation.ts';
import type { Outbound } from './http/outbound/outbound.ts';
import type { Sealer } from './ids.ts';
import type { Logger } from './log.ts';
import type { Membership } from './nodes/membership.ts';
import type { Store } from './store/store.ts';

export interface Ground {
  readonly version: string;
  readonly options: Options;
  readonly log: Logger;
  readonly store: Store;
  readonly sealer: Sealer;
  readonly membership: Membership;
  /** The one way out to other services. */
  readonly outbound: Outbound;
  /** The address this process listens on. */
  ownAddress(): string;
  /** The path of a URI that is one of this service's own. `base` is where the client saw it. */
  localPath(uri: string, base: string): string | undefined;
}

export interface Area {
  readonly routes: readonly Route[];
  /** What it does in the background on every node, by names for the log. */
  readonly duties?: Readonly<Record<string, Duty>>;
  /** Called when its node is entered, before the first request is answered. `wake` has a duty run now. */
  start?(wake: (duty: string) => void): Promise<void>;
  /** The service is about to stop: whoever waits is answered soon. */
  drain?(): void;
  /** Resolves when nothing of it is under way. */
  stop?(): Promise<void>;
}
