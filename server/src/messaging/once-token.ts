/**
 * The token of a create-next link: (chain, n, message id, expiry), signed. A link's use is remembered as the last n of its
 * chain, so issuing one writes nothing and a week of posts leaves one row per chain. The message's id stands in the token:
 * a used link leads to its message without any look-up.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

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

/** The scope is the address the link belongs to, so that a token cannot be carried to another destination. */
export function createOnceTokens(secret: Buffer): OnceTokens {
  const key = createHmac('sha256', secret).update('create-next links').digest();
  const sign = (payload: string, scope: string): Buffer =>
    createHmac('sha256', key).update(`${scope}\n${payload}`).digest().subarray(0, 16);

  return {
    write({ chain, n, messageId, expires }, scope) {
      const payload = [chain, n, messageId, expires].map((part) => part.toString(36)).join('.');
      return `${payload}.${sign(payload, scope).toString('base64url')}`;
    },
    read(text, scope) {
      const parts = FORM.exec(text);
      if (parts === null) return undefined;
      const [chain, n, messageId, expires] = parts.slice(1, 5).map((part) => Number.parseInt(part, 36)) as [
        number,
        number,
        number,
        number,
      ];
      const signature = Buffer.from(parts[5] as string, 'base64url');
      const payload = text.slice(0, text.lastIndexOf('.'));
      if (!timingSafeEqual(signature, sign(payload, scope))) return undefined;
      return { chain, n, messageId, expires };
    },
  };
}
