/** Signatures as Standard Webhooks says: who knows the secret can tell that a message comes from here, and when. */
import { createHmac } from 'node:crypto';
import { keyOf } from './subscriber.ts';

export function signatureFields(secret: string, id: string, seconds: number, body: Buffer): [string, string][] {
  const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.`).update(body).digest('base64');
  return [
    ['webhook-id', id],
    ['webhook-timestamp', String(seconds)],
    ['webhook-signature', `v1,${hmac}`],
  ];
}
