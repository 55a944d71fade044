/**
 * The token of a create-next link: (chain, n, message id, expiry), signed. A link's use is remembered as the last n of its
 * chain, so issuing one writes nothing and a week of posts leaves one row per chain. The message's id stands in the token:
 * a used link leads to its message without any look-up.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';

export interface OnceToken {
  readonly chain: number;
  readonly n: number;
  readonly messageId: number;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

export interface OnceTokens {
  write(token: OnceToken, scope: string): string;
  /** Undefined when this service did not sign it for this scope. */
  read(text: string, scope: string): OnceToken | undefined;
}

const FORM = /^([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([A-Za-z0-9_-]{22})$/;

const SIGNATURE = 22;
/** Of how many chains the last link is recognised without its signature. */
const REMEMBERED_CHAINS = 4096;

/** The expiry that was written last: links of one millisecond share it, and writing so large a number is dear. */
let lastExpiry = { expires: Number.NaN, text: '' };

function written(expires: number): string {
  if (expires !== lastExpiry.expires) lastExpiry = { expires, text: expires.toString(36) };
  return lastExpiry.text;
}

/** The scope is the address the link belongs to, so that a token cannot be carried to another destination. */
export function createOnceTokens(secret: Buffer): OnceTokens {
  const key = createHmac('sha256', secret).update('create-next links').digest('base64url');
  // One hash over key and text, of which half is shown: nobody can go on from what is not shown, so this is as good as an
  // HMAC here, and takes a third of its time.
  const sign = (payload: string, scope: string): string =>
    hash('sha256', `${key}\n${scope}\n${payload}`, 'base64url').slice(0, SIGNATURE);
  // A client nearly always comes back with the link it was given last. A signature costs a twentieth of a post.
  const latest = new Map<number, { readonly text: string; readonly token: OnceToken; readonly scope: string }>();

  function remember(text: string, token: OnceToken, scope: string): void {
    latest.set(token.chain, { text, token, scope });
    if (latest.size <= REMEMBERED_CHAINS) return;
    for (const oldest of latest.keys()) {
      latest.delete(oldest);
      return;
    }
  }

  return {
    write(token, scope) {
      const { chain, n, messageId, expires } = token;
      const payload = `${chain.toString(36)}.${n.toString(36)}.${messageId.toString(36)}.${written(expires)}`;
      const text = `${payload}.${sign(payload, scope)}`;
      remember(text, token, scope);
      return text;
    },
    read(text, scope) {
      // The chain comes first, and reading stops at the point behind it.
      const known = latest.get(Number.parseInt(text, 36));
      if (known !== undefined && known.text === text && known.scope === scope) return known.token;
      const parts = FORM.exec(text);
      if (parts === null) return undefined;
      const [chain, n, messageId, expires] = parts.slice(1, 5).map((part) => Number.parseInt(part, 36)) as [
        number,
        number,
        number,
        number,
      ];
      const signed = sign(text.slice(0, -SIGNATURE - 1), scope);
      if (!timingSafeEqual(Buffer.from(text.slice(-SIGNATURE)), Buffer.from(signed))) return undefined;
      return { chain, n, messageId, expires };
    },
  };
}
