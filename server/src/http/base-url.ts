/** Under which address a client sees the service, and which URIs are the service's own. */
import type { IncomingMessage } from 'node:http';
import { Problem } from '../problems.ts';

export interface BaseUrlOptions {
  readonly configured: string | undefined;
  readonly trustedProxies: readonly string[];
}

const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::\d{1,5})?$/;
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The base a client sees, without a slash at its end. */
export function baseOf(request: IncomingMessage, options: BaseUrlOptions): string {
  if (options.configured !== undefined) return options.configured;
  let host = request.headers.host;
  let scheme = 'http';
  const peer = request.socket.remoteAddress?.replace(/^::ffff:/, '');
  if (options.trustedProxies.length > 0 && peer !== undefined && options.trustedProxies.includes(peer)) {
    const forwarded = forwardedBy(request);
    host = forwarded.host ?? host;
    scheme = forwarded.scheme ?? scheme;
  }
  if (host === undefined || host === '') {
    // Only HTTP/1.0 may leave Host out; then the address the request came in on is the best there is.
    if (request.httpVersion !== '1.0') throw new Problem('bad-request', 'the Host field is missing');
    const { localAddress = '127.0.0.1', localPort = 80 } = request.socket;
    host = `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
  }
  if (!HOST.test(host)) throw new Problem('bad-request', 'the Host field is not a host name with an optional port');
  return `${scheme}://${host}`;
}

function forwardedBy(request: IncomingMessage): { host?: string | undefined; scheme?: string | undefined } {
  const first = (value: string | string[] | undefined): string | undefined =>
    String(value ?? '')
      .split(',')[0]
      ?.trim() || undefined;
  const forwarded = first(request.headers.forwarded);
  const of = (name: string): string | undefined =>
    new RegExp(`(?:^|;)\\s*${name}="?([^";,]*)`, 'i').exec(forwarded ?? '')?.[1] || undefined;
  const scheme = (of('proto') ?? first(request.headers['x-forwarded-proto']))?.toLowerCase();
  return {
    host: of('host') ?? first(request.headers['x-forwarded-host']),
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
