/** What a handler returns. One place writes it to the client (see writer.ts). */
import type { Document } from './document.ts';
import type { Link, OwnLink } from './links.ts';
import type { Resource } from './resource.ts';

export interface Answer {
  readonly status: number;
  /** Further fields; names as they are to be written. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Put in the Link field; hrefs may be paths. A document's own links need not be repeated here. */
  readonly links?: readonly Link[];
  /** A link to where the client goes on, beside others: written often, so it is not looked through. */
  readonly next?: OwnLink;
  /** Where the client will go with its next request, in all likelihood. */
  readonly offers?: Offer | undefined;
  /** Address templates for the Link-Template field. */
  readonly templates?: readonly { readonly rel: string; readonly href: string }[];
  /** Content as it is, with its Content-Type (null: none is sent). */
  readonly content?: { readonly type: string | null; readonly body: Buffer };
  /** Content of ours, not of a sender: 406 to a client that does not accept its type. */
  readonly negotiated?: boolean;
  /** Of content that has one; a client that has it already gets 304. */
  readonly etag?: string;
  /** Or content that goes on: written piece by piece until the promise ends. */
  readonly stream?: { readonly type: string; run(sink: Sink): Promise<void> };
  /** Or a document, written in the media type the client prefers. */
  readonly document?: Document;
}

/** An address of ours, and what finding it would yield. */
export interface Offer {
  readonly href: string;
  readonly resource: Resource;
  /** As the router names them. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Where a stream is written. Slow readers are waited for. */
export interface Sink {
  readonly gone: boolean;
  write(text: string): Promise<void>;
}

export const NO_STORE = ['Cache-Control', 'no-store'] as const;
/** For answers that are chosen by Accept but are no documents, for which the writer says so. */
export const VARY_ACCEPT = ['Vary', 'Accept'] as const;

export function noContent(extra: Omit<Answer, 'status'> = {}): Answer {
  return { status: 204, ...extra };
}

/** Location holds a path here; the writer makes it absolute. */
export function location(path: string): readonly [string, string] {
  return ['Location', path];
}
