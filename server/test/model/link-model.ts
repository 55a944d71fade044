/**
 * Create-next links in small (A12).
 *
 *   unused --POST--> used     and the answer carries the next link
 *   used   --POST--> used     whatever the body, for at least a lifetime after its use
 *   unused --a lifetime--> over
 */
export interface LinkRules {
  now(): number;
  /** Milliseconds. */
  readonly lifetime: number;
}

export interface OnceLink {
  readonly expires: number;
  /** When it was used, and the ids of what it made. */
  used: { readonly at: number; readonly ids: readonly number[] } | undefined;
}

/** `forgotten`: used so long ago that the service may say `used` or `over`. */
export type LinkState = 'unused' | 'used' | 'over' | 'forgotten';

export function createLinkModel({ now, lifetime }: LinkRules) {
  return {
    /** Issuing remembers nothing: the link itself says all. */
    issue: (): OnceLink => ({ expires: now() + lifetime, used: undefined }),
    stateOf({ expires, used }: OnceLink): LinkState {
      if (used !== undefined) return now() < used.at + lifetime ? 'used' : 'forgotten';
      return now() < expires ? 'unused' : 'over';
    },
    use(link: OnceLink, ids: readonly number[]): void {
      link.used = { at: now(), ids };
    },
  };
}
