/**
 * Use cases of once-only posting (A12): issue a link, use it, look at it.
 *
 *   unused --POST--> used      200, and the next link of the same chain
 *   used   --POST--> used      405, and a link of a fresh chain
 *   unused --7 days--> over    410, and a link of a fresh chain
 *
 * Whoever finds a link used gets a fresh chain, never the next of the old one: that one belongs to the winner, and a second
 * holder would take the winner's post for his own.
 */
import type { Store } from '../../store/store.ts';
import type { OnceToken, OnceTokens, TokenScope } from '../once-token.ts';
import { batchOfLink, useOfLink } from '../queries/uses.ts';
import type { DestinationKind } from '../settings.ts';
import { notYetDecided } from './enlisting.ts';
import type { Draft, Posting, PutOptions } from './posting.ts';

export type OnceOutcome =
  | { readonly state: 'posted'; readonly ids: readonly number[]; readonly next: string }
  | { readonly state: 'used'; readonly next: string }
  | { readonly state: 'over'; readonly next: string };

export type OnceLook =
  | { readonly state: 'unused' }
  | { readonly state: 'over' }
  /** Used by an open transaction, whose rollback would make it free again. */
  | { readonly state: 'held' }
  | { readonly state: 'used'; readonly ids: readonly number[] };

export interface Once {
  /** The links for single messages, or for batches, to destinations of a kind. */
  of(kind: DestinationKind, batch: boolean): OnceLinks;
}

export interface OnceLinks {
  issue(name: string): string;
  /** Undefined when the token is none of ours. The drafts are made only for a link that may still be used. */
  use(
    name: string,
    token: string,
    drafts: () => readonly Draft[],
    options: PutOptions,
  ): Promise<OnceOutcome | undefined>;
  look(name: string, token: string): Promise<OnceLook | undefined>;
}

/**
 * A chain is remembered a little longer than its last link can be used, and until a whole hour: the uses of an hour have the
 * same end, and an index on it is left alone by all of them but the first.
 */
const MARGIN = 86_400_000;
const HOUR = 3_600_000;

/** Of how many destinations it is kept what their links are signed for. Clients choose the names, so it is bounded. */
const MOST_SCOPES = 256;

export function createOnce(store: Store, posting: Posting, tokens: OnceTokens, lifetime: number): Once {
  async function wasUsed(token: OnceToken): Promise<boolean> {
    const use = await store.read((tx) => useOfLink(tx, token));
    if (typeof use === 'object') throw notYetDecided();
    return use === 'done';
  }

  function write(scope: TokenScope, chain: number, n: number): string {
    return tokens.write(
      { chain, n, messageId: store.nextId() * 2, expires: Math.floor(store.now() + lifetime) },
      scope,
    );
  }

  function of(kind: DestinationKind, batch: boolean): OnceLinks {
    const scopes = new Map<string, TokenScope>();

    function scopeOf(name: string): TokenScope {
      const known = scopes.get(name);
      if (known !== undefined) return known;
      const scope = tokens.scope(`${kind}/${name}/${batch ? 'batch' : 'message'}`);
      if (scopes.size === MOST_SCOPES) scopes.clear();
      scopes.set(name, scope);
      return scope;
    }

    const issue = (name: string): string => write(scopeOf(name), store.nextId(), 1);

    return {
      issue,
      async use(name, text, drafts, { wishes, transaction }) {
        const scope = scopeOf(name);
        const token = tokens.read(text, scope);
        if (token === undefined) return undefined;
        const { chain, n, messageId, expires } = token;
        const now = store.now();
        if (expires <= now) return { state: (await wasUsed(token)) ? 'used' : 'over', next: issue(name) };
        const remembered = Math.ceil((Math.max(expires, now + lifetime) + MARGIN) / HOUR) * HOUR;
        const use = batch ? { chain, n, expires: remembered, batch } : { chain, n, expires: remembered };
        let parcel: readonly Draft[];
        try {
          parcel = drafts();
        } catch (error) {
          // A used link answers 405 whatever the body, so it is looked up before a bad body is complained about.
          if (await wasUsed(token)) return { state: 'used', next: issue(name) };
          throw error;
        }
        const once = { use, messageId };
        const ids = await posting.postOnce({ kind, name, drafts: parcel, wishes, transaction, once });
        if (ids === 'once-used') return { state: 'used', next: issue(name) };
        // A rollback makes this link free again, and the next of its chain must not be in anyone's hands then.
        const next = transaction === undefined ? write(scope, chain, n + 1) : issue(name);
        return { state: 'posted', ids, next };
      },
      async look(name, text) {
        const token = tokens.read(text, scopeOf(name));
        if (token === undefined) return undefined;
        const { chain, n, messageId, expires } = token;
        const use = await store.read((tx) => useOfLink(tx, token));
        if (typeof use === 'object') return { state: 'held' };
        if (use === 'free') return { state: expires <= store.now() ? 'over' : 'unused' };
        if (!batch) return { state: 'used', ids: [messageId] };
        return { state: 'used', ids: (await store.read((tx) => batchOfLink(tx, chain, n))) ?? [] };
      },
    };
  }

  return { of };
}
