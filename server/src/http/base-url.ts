/** Under which address a client sees the service, and which URIs are the service's own. */
import { Problem } from '../problems.ts';
import type { Exchange } from './protocol/exchange.ts';
import type { RequestHead } from './protocol/head.ts';

export interface BaseUrlOptions {
  readonly configured: string | undefined;
  readonly trustedProxies: readonly string[];
}

const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::(\d{1,5}))?$/;
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The base a client sees, without a slash at its end. Refuses a request that does not say which host it is for. */
export function baseOf(exchange: Exchange, options: BaseUrlOptions): string {
  const asked = hostOf(exchange);
  if (options.configured !== undefined) return options.configured;
  let host = asked;
  let scheme = 'http';
  if (options.trustedProxies.length > 0 && isFrom(exchange, options.trustedProxies)) {
    const forwarded = forwardedBy(exchange.head);
    host = forwarded.host === undefined ? host : checked(forwarded.host);
    scheme = forwarded.scheme ?? scheme;
  }
  if (scheme !== last.scheme || host !== last.host) last = { scheme, host, base: `${scheme}://${host}` };
  return last.base;
}

/** The base that was made last: most clients see the same, and what is written with it need not be looked at again. */
let last = { scheme: '', host: '', base: '' };

function isFrom({ remoteAddress }: Exchange, addresses: readonly string[]): boolean {
  return remoteAddress !== undefined && addresses.includes(remoteAddress.replace(/^::ffff:/, ''));
}

/** The host the request is for. An absolute target overrules Host, but does not stand in for it. */
function hostOf({ head: { target, headers, version }, authority }: Exchange): string {
  const { host } = headers;
  if (host === undefined && version === '1.1') throw new Problem('bad-request', 'the Host field is missing');
  const given = host === undefined ? undefined : checked(host);
  const named = target.startsWith('/') ? undefined : ABSOLUTE.exec(target)?.[1];
  // HTTP/1.0 may leave Host out; then the address the request came in on is the best there is.
  return named === undefined ? (given ?? authority) : checked(named);
}

/** The last host that was found to be one: most requests are for the same. */
let lastChecked = '';

function checked(host: string): string {
  if (host === lastChecked) return host;
  const match = HOST.exec(host);
  if (match === null || Number(match[1] ?? 0) > 65_535) {
    throw new Problem('bad-request', 'the Host field is not a host name with an optional port');
  }
  lastChecked = host;
  return host;
}

function forwardedBy({ headers }: RequestHead): { host?: string | undefined; scheme?: string | undefined } {
  const first = (value = ''): string | undefined => value.split(',')[0]?.trim() || undefined;
  const forwarded = first(headers.forwarded);
  const of = (name: string): string | undefined =>
    new RegExp(`(?:^|;)\\s*${name}="?([^";,]*)`, 'i').exec(forwarded ?? '')?.[1] || undefined;
  const scheme = (of('proto') ?? first(headers['x-forwarded-proto']))?.toLowerCase();
  return {
    host: of('host') ?? first(headers['x-forwarded-host']),
    scheme: scheme === 'https' || scheme === 'http' ? scheme : undefined,
  };
}

/** Tells own URIs from others. Own ones become paths, so that a changed port or name breaks nothing. */
export function createLocalUris(configured: string | undefined, listensOn: () => readonly string[]) {
  return (uri: string, requestBase: string): string | undefined => {
    if (uri.startsWith('/') && !uri.startsWith('//')) return uri;
    for (const base of [requestBase, configured, ...listensOn()]) {
      const path = base === undefined ? undefined : pathUnder(uri, base);
      if (path !== undefined) return path;
    }
    return undefined;
  };
}

function pathUnder(uri: string, base: string): string | undefined {
  if (!URL.canParse(uri)) return undefined;
  const given = new URL(uri);
  const own = new URL(base);
  const sameHost = given.hostname === own.hostname || (LOOPBACK.test(given.hostname) && LOOPBACK.test(own.hostname));
  if (given.protocol !== own.protocol || given.port !== own.port || !sameHost) return undefined;
  const prefix = own.pathname === '/' ? '' : own.pathname;
  if (prefix !== '' && given.pathname !== prefix && !given.pathname.startsWith(`${prefix}/`)) return undefined;
  return given.pathname.slice(prefix.length) + given.search;
}
