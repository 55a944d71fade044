/** What a person has to look at, and by which links to act on it. */
export interface Action {
  readonly rel: string;
  /** A path of this service. */
  readonly href: string;
  readonly title?: string;
}

export interface NewNotice {
  /** For example `transaction.heuristic-mixed` or `subscriber.disabled`. */
  readonly kind: string;
  /** The path of what it is about. */
  readonly subject: string;
  readonly title: string;
  readonly detail: string;
  readonly actions: readonly Action[];
}

export interface Notice extends NewNotice {
  readonly id: number;
  readonly created: number;
  readonly acknowledged?: { readonly at: number; readonly by?: string; readonly why?: string };
}
