/**
 * A connection: requests come in one behind the other, and each is answered before the next is begun. So answers keep
 * their order, what a client sends without waiting is done in the order it was sent, and a connection never holds more
 * than one request and what has come behind it.
 */
import type { Socket } from 'node:net';
import { Problem } from '../../problems.ts';
import { answerHead, type FieldLines, withField } from './answer-head.ts';
import type { BodyBudget } from './body.ts';
import { type Carrier, Exchange, type Offered, type OpenAnswer } from './exchange.ts';
import { headersTooLarge, malformed } from './fields.ts';
import { checkBeginning, createHeadReader, type RequestHead } from './head.ts';
import { PATIENCE, watchAnswers } from './patience.ts';

/** What all connections of a listener share. */
export interface ConnectionGround {
  readonly maxHeaderSize: number;
  readonly bodies: BodyBudget;
  readonly dispatch: (exchange: Exchange) => void;
  /** How to tell a client that what it sent is no request. */
  readonly refusal: (problem: Problem, socket: Socket) => { fields: readonly string[]; body: Buffer };
  /** Whether connections are to be closed behind their answers. */
  readonly draining: () => boolean;
}

const EMPTY = Buffer.alloc(0);
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const CR = 0x0d;
const LF = 0x0a;

/** What may wait behind a request that has no answer yet. With more than that the client is no longer read from. */
const MOST_UNREAD = 64 * 1024;

/**
 * Bodies up to this size go out together with the head. As text of one byte per character they are joined with it in one
 * piece, where a buffer would be handed to the system beside it: 3 to 5 % less CPU for an answer of 1 KiB.
 */
const ONE_PIECE = 16 * 1024;

/** What is left from a place on. Nothing is not a view: it would hold all that came with it for as long as it is idle. */
const rest = (bytes: Buffer, from: number): Buffer => (from < bytes.length ? bytes.subarray(from) : EMPTY);

const late = (): Problem => new Problem('request-timeout', 'the request was not complete in time');

export class Connection implements Carrier {
  readonly socket: Socket;
  readonly #ground: ConnectionGround;
  readonly #readHead = createHeadReader();
  /** What has come and was not looked at yet. */
  #unread: Buffer = EMPTY;
  /** So much of it is known to hold no end of a head. */
  #searched = 0;
  /** The request that has no answer yet. */
  #exchange: Exchange | undefined;
  #isReading = false;
  /** The client does not take its answers: nothing is begun until it does. */
  #isFull = false;
  /** The last answer was given. What still comes is thrown away. */
  #isOver = false;
  saidGoodbye = false;
  isClosed = false;
  offered: Offered | undefined;
  /** When the client began to be idle, to send a request, or to be waited for at the end. */
  #since = performance.now();
  readonly #leavesAnswers: (now: number) => boolean;
  /** When the last answer was given. */
  #overAt = 0;

  constructor(socket: Socket, ground: ConnectionGround) {
    this.socket = socket;
    this.#ground = ground;
    this.#leavesAnswers = watchAnswers(socket);
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('end', () => this.#goodbye());
    socket.on('drain', () => {
      this.#isFull = false;
      this.#readOn();
    });
    // Whatever it is, the end of the connection follows.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
      this.#unread = EMPTY;
      this.#exchange?.hangUp();
    });
  }

  #take(bytes: Buffer): void {
    if (this.#isOver) {
      this.#since = performance.now();
      return;
    }
    const more = this.#exchange === undefined ? bytes : this.#exchange.feed(bytes);
    if (more.length === 0) return;
    if (this.#unread.length === 0) {
      this.#unread = more;
      if (this.#exchange === undefined) this.#since = performance.now();
    } else this.#unread = Buffer.concat([this.#unread, more]);
    if (this.#exchange === undefined) this.#readOn();
    if (!this.#hasEnough || this.isDeaf) return;
    this.socket.pause();
    this.#exchange?.goDeaf();
  }

  get isDeaf(): boolean {
    return this.socket.isPaused();
  }

  /** What waits can wait where it is: in the system, and with the client. */
  get #hasEnough(): boolean {
    return this.#unread.length > MOST_UNREAD && (this.#exchange !== undefined || this.#isFull);
  }

  /** The client will send nothing more. It may still read. */
  #goodbye(): void {
    this.saidGoodbye = true;
    if (this.#exchange === undefined) this.#readOn();
    else this.#exchange.hangUp();
  }

  /** Begins what has come, one request after the other. */
  #readOn(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#exchange === undefined && !this.#isOver && !this.#isFull && this.#begin()) {}
    this.#isReading = false;
    if (this.isDeaf && !this.#hasEnough) this.socket.resume();
    if (this.#exchange !== undefined || this.#isOver || this.#isFull) return;
    if (this.#unread.length > 0) {
      if (this.saidGoodbye) this.#refuse(malformed('the request ended before it was complete'));
    } else if (this.saidGoodbye || this.#ground.draining()) this.#end();
  }

  /** Begins the next request. False when it has not come, or cannot be one. */
  #begin(): boolean {
    let from = 0;
    // RFC 9112, section 2.2: empty lines before a request are passed over.
    while (this.#unread[from] === CR || this.#unread[from] === LF) from++;
    if (from > 0) {
      this.#unread = rest(this.#unread, from);
      this.#searched = 0;
    }
    if (this.#unread.length === 0) return false;
    try {
      const head = this.#nextHead();
      if (head === undefined) return false;
      this.#exchange = this.#open(head);
    } catch (error) {
      this.#refuse(error instanceof Problem ? error : new Problem('internal', 'the request could not be read'));
      return false;
    }
    this.#ground.dispatch(this.#exchange);
    return true;
  }

  #nextHead(): RequestHead | undefined {
    const { maxHeaderSize } = this.#ground;
    const unread = this.#unread;
    const end = unread.indexOf(END_OF_HEAD, this.#searched);
    if (end > maxHeaderSize || (end < 0 && unread.length > maxHeaderSize)) throw headersTooLarge();
    if (end < 0) {
      checkBeginning(unread, this.#searched);
      this.#searched = Math.max(0, unread.length - END_OF_HEAD.length + 1);
      return undefined;
    }
    const head = this.#readHead(unread.toString('latin1', 0, end));
    this.#unread = rest(unread, end + END_OF_HEAD.length);
    this.#searched = 0;
    return head;
  }

  /** The request of a head, with as much of its body as has come. */
  #open(head: RequestHead): Exchange {
    const { framing } = head.fields;
    if (framing === 'nothing') return new Exchange(this, head, {});
    const problem = this.#ground.bodies.refuse(framing);
    if (problem !== undefined) {
      this.#unread = EMPTY;
      return new Exchange(this, head, { problem });
    }
    const unread = this.#unread;
    if (typeof framing === 'number' && framing <= unread.length) {
      this.#unread = rest(unread, framing);
      return new Exchange(this, head, { whole: unread.subarray(0, framing) });
    }
    const exchange = new Exchange(this, head, { incoming: this.#ground.bodies.open(framing) });
    this.#unread = unread.length === 0 ? unread : rest(exchange.feed(unread), 0);
    return exchange;
  }

  invite(): void {
    if (!this.isClosed) this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1');
  }

  answer(
    exchange: Exchange,
    status: number,
    fields: readonly string[],
    content: Buffer | undefined,
    lines: FieldLines,
  ): void {
    const isLast = this.#isLast(exchange);
    let head: string;
    let body: Buffer | undefined;
    if (status === 204 || status === 304) head = answerHead(status, fields, isLast, lines);
    else {
      head = answerHead(status, fields, isLast, withField(lines, 'Content-Length', content?.length ?? 0));
      if (exchange.head.method !== 'HEAD') body = content;
    }
    this.#write(head, body);
    this.#finish(exchange, isLast);
  }

  openAnswer(exchange: Exchange, status: number, fields: readonly string[], lines: FieldLines): OpenAnswer {
    const isChunked = exchange.head.version === '1.1';
    const isLast = this.#isLast(exchange) || !isChunked;
    const hasBody = exchange.head.method !== 'HEAD';
    this.#write(answerHead(status, isChunked ? [...fields, 'Transfer-Encoding', 'chunked'] : fields, isLast, lines));
    let isEnded = false;
    return {
      get gone() {
        return exchange.gone;
      },
      write: async (text) => {
        if (isEnded || !hasBody || this.isClosed) return;
        const bytes = Buffer.from(text);
        this.#write(isChunked ? `${bytes.length.toString(16)}\r\n` : '', bytes, isChunked ? '\r\n' : '');
        if (this.#isFull) await this.#emptied();
      },
      end: () => {
        if (isEnded) return;
        isEnded = true;
        if (isChunked && hasBody) this.#write('0\r\n\r\n');
        this.#finish(exchange, isLast);
      },
      abort: () => {
        isEnded = true;
        this.socket.destroy();
      },
    };
  }

  /** Resolves when the client has taken what was written, or is gone. */
  #emptied(): Promise<void> {
    const { socket } = this;
    return new Promise((resolve) => {
      const done = (): void => {
        socket.off('drain', done).off('close', done);
        resolve();
      };
      socket.once('drain', done).once('close', done);
    });
  }

  #write(head: string, body?: Buffer, tail = ''): void {
    if (this.isClosed) return;
    const { socket } = this;
    if (body === undefined) this.#isFull = !socket.write(head + tail, 'latin1');
    else if (body.length <= ONE_PIECE) {
      this.#isFull = !socket.write(head + body.toString('latin1') + tail, 'latin1');
    } else {
      socket.cork();
      if (head !== '') socket.write(head, 'latin1');
      this.#isFull = !socket.write(body);
      if (tail !== '') this.#isFull = !socket.write(tail, 'latin1');
      socket.uncork();
    }
  }

  /**
   * Whether an answer is the last of the connection. A body that was not read to its end would be taken for the next
   * request. Whoever is sent home while the service stops has sent nothing behind it: that is under way, too.
   */
  #isLast({ head, isRead }: Exchange): boolean {
    const isDone = this.#unread.length === 0 && (this.saidGoodbye || this.#ground.draining());
    return isDone || !isRead || !head.keepsAlive;
  }

  #finish(exchange: Exchange, isLast: boolean): void {
    if (this.#exchange !== exchange) return;
    this.#exchange = undefined;
    this.#since = performance.now();
    if (isLast) this.#end();
    else if (this.#unread.length > 0 || this.saidGoodbye || this.#ground.draining()) this.#readOn();
  }

  /** Answers what is no request. What follows cannot be trusted either. */
  #refuse(problem: Problem): void {
    const { fields, body } = this.#ground.refusal(problem, this.socket);
    this.#write(answerHead(problem.status, [...fields, 'Content-Length', String(body.length)], true), body);
    this.#end();
  }

  /**
   * Says goodbye. What the client is still sending is read and forgotten for a while: closing at once would make the
   * system throw away an answer that it has not read yet.
   */
  #end(): void {
    this.#isOver = true;
    this.#unread = EMPTY;
    this.#since = performance.now();
    this.#overAt = this.#since;
    if (!this.isClosed) this.socket.end();
    if (this.isDeaf) this.socket.resume();
  }

  /** The service stops: whoever is not being served can go. */
  leaveIfIdle(): void {
    if (this.#exchange === undefined && this.#unread.length === 0 && !this.#isOver) this.#end();
  }

  /** Ends what has taken too long. */
  checkPatience(now: number): void {
    if (this.#leavesAnswers(now)) this.socket.destroy();
    const waited = now - this.#since;
    if (this.#exchange === undefined && this.socket.writableLength > 0) {
      // Whoever still takes its answer is given the time it needs.
      this.#since = now;
      this.#overAt = now;
    } else if (this.#isOver) {
      if (waited > PATIENCE.goodbye || now - this.#overAt > PATIENCE.lingering) this.socket.destroy();
    } else if (this.#exchange !== undefined) {
      if (waited > PATIENCE.body) this.#exchange.fail(late());
    } else if (this.#unread.length === 0) {
      if (waited > PATIENCE.idle) this.#end();
    } else if (waited > PATIENCE.head) this.#refuse(late());
  }
}
