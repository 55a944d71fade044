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
import type { OnceToken, OnceTokens } from '../once-token.ts';
import { batchOfLink, isUsed } from '../queries/once.ts';
import type { DestinationKind } from '../settings.ts';
import type { Draft, Posting, PutOptions } from './posting.ts';

/** What a link is for. */
export interface OnceScope {
  readonly kind: DestinationKind;
  readonly name: string;
  readonly batch: boolean;
}

export type OnceOutcome =
  | { readonly state: 'posted'; readonly ids: readonly number[]; readonly next: string }
  | { readonly state: 'used'; readonly next: string }
  | { readonly state: 'over'; readonly next: string };

export type OnceLook =
  | { readonly state: 'unused' }
  | { readonly state: 'over' }
  | { readonly state: 'used'; readonly ids: readonly number[] };

export interface Once {
  issue(scope: OnceScope): string;
  /** Undefined when the token is none of ours. The drafts are made only for a link that may still be used. */
  use(
    scope: OnceScope,
    token: string,
    drafts: () => readonly Draft[],
    options: PutOptions,
  ): Promise<OnceOutcome | undefined>;
  look(scope: OnceScope, token: string): Promise<OnceLook | undefined>;
}

/**
 * A chain is remembered a little longer than its last link can be used, and until a whole hour: the uses of an hour have the
 * same end, and an index on it is left alone by all of them but the first.
 */
const MARGIN = 86_400_000;
const HOUR = 3_600_000;

export function createOnce(store: Store, posting: Posting, tokens: OnceTokens, lifetime: number): Once {
  const signed = ({ kind, name, batch }: OnceScope): string => `${kind}/${name}/${batch ? 'batch' : 'message'}`;

  function write(scope: OnceScope, chain: number, n: number): string {
    const token = { chain, n, messageId: store.nextId() * 2, expires: Math.floor(store.now() + lifetime) };
    return tokens.write(token, signed(scope));
  }

  const issue = (scope: OnceScope): string => write(scope, store.nextId(), 1);

  const wasUsed = (token: OnceToken): Promise<boolean> => store.read((tx) => isUsed(tx, token));

  return {
    issue,
    async use(scope, text, drafts, options) {
      const token = tokens.read(text, signed(scope));
      if (token === undefined) return undefined;
      const { chain, n, messageId, expires } = token;
      const now = store.now();
      if (expires <= now) return { state: (await wasUsed(token)) ? 'used' : 'over', next: issue(scope) };
      const remembered = Math.ceil((Math.max(expires, now + lifetime) + MARGIN) / HOUR) * HOUR;
      const use = scope.batch
        ? { chain, n, expires: remembered, batch: true as const }
        : { chain, n, expires: remembered };
      const { kind, name } = scope;
      let parcel: readonly Draft[];
      try {
        parcel = drafts();
      } catch (error) {
        // A used link answers 405 whatever the body, so it is looked up before a bad body is complained about.
        if (await wasUsed(token)) return { state: 'used', next: issue(scope) };
        throw error;
      }
      const { wishes, transaction } = options;
      const ids = await posting.postOnce({ kind, name, drafts: parcel, wishes, transaction, once: { use, messageId } });
      if (ids === undefined) return { state: 'used', next: issue(scope) };
      // A rollback makes this link free again, and the next of its chain must not be in anyone's hands then.
      const next = transaction === undefined ? write(scope, chain, n + 1) : issue(scope);
      return { state: 'posted', ids, next };
    },
    async look(scope, text) {
      const token = tokens.read(text, signed(scope));
      if (token === undefined) return undefined;
      if (!(await wasUsed(token))) return { state: token.expires <= store.now() ? 'over' : 'unused' };
      const { chain, n, messageId } = token;
      if (!scope.batch) return { state: 'used', ids: [messageId] };
      return { state: 'used', ids: (await store.read((tx) => batchOfLink(tx, chain, n))) ?? [] };
    },
  };
}
