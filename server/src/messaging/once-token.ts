/**
 * The token of a create-next link: (chain, n, message id, expiry), signed. A link's use is remembered as the last n of its
 * chain, so issuing one writes nothing and a week of posts leaves one row per chain. The message's id stands in the token:
 * a used link leads to its message without any look-up.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { fromBase36, toBase36 } from './base36.ts';

export interface OnceToken {
  readonly chain: number;
  readonly n: number;
  readonly messageId: number;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** What tokens are signed for: made from the address they belong to, so that none can be carried to another one. */
export interface TokenScope {
  readonly key: string;
}

export interface OnceTokens {
  /** Costs about as much as two signatures, so it is worth keeping. */
  scope(address: string): TokenScope;
  write(token: OnceToken, scope: TokenScope): string;
  /** Undefined when this service did not sign it for this scope. */
  read(text: string, scope: TokenScope): OnceToken | undefined;
}

const FORM = /^([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([A-Za-z0-9_-]{22})$/;

const SIGNATURE = 22;
/** Of how many chains the last link is recognised without its signature. */
const REMEMBERED_CHAINS = 4096;

/** The expiry that was written last: links of one millisecond share it, and writing so large a number is dear. */
let lastExpiry = { expires: Number.NaN, text: '' };

function written(expires: number): string {
  if (expires !== lastExpiry.expires) lastExpiry = { expires, text: toBase36(expires) };
  return lastExpiry.text;
}

/** The chain comes first. What is no number gives some other one, of which there is no link. */
const chainOf = (text: string): number => fromBase36(text.slice(0, text.indexOf('.')));

/** 132 bits: as long as a signature. Key and payload nearly always fill one block of the hash, and not two. */
const KEY = 22;

/** A token as it was written last in its chain. */
interface Issued {
  readonly text: string;
  readonly token: OnceToken;
  readonly key: string;
}

export function createOnceTokens(secret: Buffer): OnceTokens {
  // One hash over key and text, of which half is shown: nobody can go on from what is not shown, so this is as good as an
  // HMAC here, and takes a third of its time. All keys have the same length, so nothing need stand behind them.
  const sign = (payload: string, { key }: TokenScope): string =>
    hash('sha256', key + payload, 'base64url').slice(0, SIGNATURE);
  // A client nearly always comes back with the link it was given last. A signature costs a twentieth of a post.
  const latest = new Map<number, Issued>();

  function remember(issued: Issued): void {
    latest.set(issued.token.chain, issued);
    if (latest.size <= REMEMBERED_CHAINS) return;
    for (const oldest of latest.keys()) {
      latest.delete(oldest);
      return;
    }
  }

  return {
    scope: (address) => ({
      key: createHmac('sha256', secret).update(`create-next links of ${address}`).digest('base64url').slice(0, KEY),
    }),
    write(token, scope) {
      const { chain, n, messageId, expires } = token;
      const payload = `${toBase36(chain)}.${toBase36(n)}.${toBase36(messageId)}.${written(expires)}`;
      const text = `${payload}.${sign(payload, scope)}`;
      remember({ text, token, key: scope.key });
      return text;
    },
    read(text, scope) {
      const known = latest.get(chainOf(text));
      if (known !== undefined && known.text === text && known.key === scope.key) return known.token;
      const parts = FORM.exec(text);
      if (parts === null) return undefined;
      const [chain, n, messageId, expires] = parts.slice(1, 5).map(fromBase36) as [number, number, number, number];
      const signed = sign(text.slice(0, -SIGNATURE - 1), scope);
      if (!timingSafeEqual(Buffer.from(text.slice(-SIGNATURE)), Buffer.from(signed))) return undefined;
      return { chain, n, messageId, expires };
    },
  };
}
