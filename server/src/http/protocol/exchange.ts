/** One request and its answer. */
import type { Socket } from 'node:net';
import type { Problem } from '../../problems.ts';
import { type FieldLines, NO_LINES } from './answer-head.ts';
import type { IncomingBody } from './body.ts';
import { malformed } from './fields.ts';
import type { RequestHead } from './head.ts';

/** An answer that goes on until it is ended. */
export interface OpenAnswer {
  readonly gone: boolean;
  /** Resolves when the client has taken it, or is gone. */
  write(text: string): Promise<void>;
  end(): void;
  /** Ends it so that nobody takes it for complete. */
  abort(): void;
}

/** What an exchange asks of its connection. */
export interface Carrier {
  readonly socket: Socket;
  readonly isClosed: boolean;
  /** Whether the client has said that it will send nothing more. */
  readonly saidGoodbye: boolean;
  /** Whether so much has come behind the request that the client is not read from, and would not be seen to leave. */
  readonly isDeaf: boolean;
  /** Has the client send the body it has announced. */
  invite(): void;
  answer(
    exchange: Exchange,
    status: number,
    fields: readonly string[],
    content: Buffer | undefined,
    lines: FieldLines,
  ): void;
  openAnswer(exchange: Exchange, status: number, fields: readonly string[], lines: FieldLines): OpenAnswer;
  /** What the last answer offered. */
  offered: Offered | undefined;
}

/** Where an answer leads, and what whoever offered it knows of that place. */
export interface Offered {
  readonly target: string;
  readonly place: unknown;
}

/** The body of a request when its head has come: there, on its way, or not to be read. */
export interface Body {
  readonly whole?: Buffer;
  readonly incoming?: IncomingBody;
  readonly problem?: Problem;
}

const EMPTY = Buffer.alloc(0);

export class Exchange {
  readonly head: RequestHead;
  readonly #carrier: Carrier;
  /** Until it is complete. */
  #incoming: IncomingBody | undefined;
  #body: Buffer;
  /** Why the body cannot be read. */
  #problem: Problem | undefined;
  #reader: { resolve: (body: Buffer) => void; reject: (problem: Problem) => void } | undefined;
  #answered = false;
  #watchers: Set<() => void> | undefined;
  #deafWatchers: Set<() => void> | undefined;

  constructor(carrier: Carrier, head: RequestHead, body: Body) {
    this.head = head;
    this.#carrier = carrier;
    this.#body = body.whole ?? EMPTY;
    this.#incoming = body.incoming;
    this.#problem = body.problem;
  }

  /** Whether nothing of the request is left to come. */
  get isRead(): boolean {
    return this.#incoming === undefined && this.#problem === undefined;
  }

  /** Clients nearly always follow the link they were just given: what is offered need not be looked up when they do. */
  offer(target: string, place: unknown): void {
    this.#carrier.offered = { target, place };
  }

  /** The place that was offered by the answer before, if that is where this request goes. */
  get taken(): unknown {
    const { offered } = this.#carrier;
    return offered?.target === this.head.target ? offered.place : undefined;
  }

  /** The whole body, or a promise of it. Throws or rejects with what the client is to be told. */
  body(): Buffer | Promise<Buffer> {
    if (this.#problem !== undefined) throw this.#problem;
    if (this.#incoming === undefined) return this.#body;
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      if (this.head.headers.expect !== undefined && this.head.version === '1.1') this.#carrier.invite();
    });
  }

  /** Takes what has come and gives what does not belong to the body. */
  feed(bytes: Buffer): Buffer {
    const incoming = this.#incoming;
    if (incoming === undefined) return this.isRead ? bytes : EMPTY;
    try {
      const read = incoming.read(bytes);
      if (incoming.isComplete) {
        this.#body = incoming.content();
        this.#close();
        this.#reader?.resolve(this.#body);
      }
      return bytes.subarray(read);
    } catch (error) {
      this.fail(error as Problem);
      return EMPTY;
    }
  }

  /** The rest of the body will not come, or could not be read. */
  fail(problem: Problem): void {
    if (this.#incoming === undefined) return;
    this.#close();
    this.#problem = problem;
    this.#reader?.reject(problem);
  }

  #close(): void {
    this.#incoming?.close();
    this.#incoming = undefined;
  }

  /**
   * Whether the client is known to have hung up. One that has said goodbye may still read its answer; but who waits for
   * something that may never come, and says goodbye, has lost interest.
   */
  get gone(): boolean {
    return this.#carrier.isClosed || (this.#carrier.saidGoodbye && this.#watchers !== undefined);
  }

  /** Gives a function that takes the wish back. */
  onGone(callback: () => void): () => void {
    this.#watchers ??= new Set();
    const watchers = this.#watchers.add(callback);
    return () => watchers.delete(callback);
  }

  /** Whether it would go unnoticed if the client hung up. */
  get unwatched(): boolean {
    return this.#carrier.isDeaf;
  }

  /** Calls back when that begins. Gives a function that takes the wish back. */
  onUnwatched(callback: () => void): () => void {
    this.#deafWatchers ??= new Set();
    const watchers = this.#deafWatchers.add(callback);
    return () => watchers.delete(callback);
  }

  /** Told by the connection. */
  goDeaf(): void {
    for (const callback of this.#deafWatchers ?? []) callback();
  }

  /** Told by the connection. */
  hangUp(): void {
    this.fail(malformed('the request ended before its body was complete'));
    for (const callback of this.#watchers ?? []) callback();
  }

  get remoteAddress(): string | undefined {
    return this.#carrier.socket.remoteAddress;
  }

  /** The address the request came in on, as the authority of a URI. */
  get authority(): string {
    return authorityOf(this.#carrier.socket);
  }

  /** Answers, unless that was done before. Names and values take turns in `fields`; `lines` are added as they are. */
  answer(status: number, fields: readonly string[], content?: Buffer, lines: FieldLines = NO_LINES): void {
    if (this.#answered) return;
    this.#carrier.answer(this, status, fields, content, lines);
    this.#finish();
  }

  /** What is answered needs no body any more: what has come of one is forgotten, and the rest is not gathered. */
  #finish(): void {
    this.#answered = true;
    if (this.#incoming !== undefined) this.fail(malformed('the request was answered before its body was complete'));
  }

  /** Begins an answer that goes on. */
  open(status: number, fields: readonly string[], lines: FieldLines = NO_LINES): OpenAnswer {
    const answer = this.#carrier.openAnswer(this, status, fields, lines);
    this.#finish();
    return answer;
  }
}

export function authorityOf({ localAddress = '127.0.0.1', localPort = 80 }: Socket): string {
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}
