/** The document of a transactional state (application/tx-state+xml), as it is written and as it is read from others. */
import { parseXml, renderXml } from '../http/xml.ts';

export const STATE_TYPE = 'application/tx-state+xml';

export const stateXml = (state: string): string => renderXml({ name: 'transactional-state', attributes: { state } });

/** A state document is small; what is larger is something else. */
const MAX_BYTES = 16 * 1024;

/** The state that a participant's answer names, if it names one in a form we know. Others' answers are never trusted. */
export const readStateDocument = (type: string | undefined, body: Buffer): string | undefined =>
  stateIn('transactional-state', type, body);

/** The state that an answer about a transaction names. */
export const readTransactionState = (type: string | undefined, body: Buffer): string | undefined =>
  stateIn('transaction', type, body);

function stateIn(element: string, type: string | undefined, body: Buffer): string | undefined {
  if (body.length === 0 || body.length > MAX_BYTES) return undefined;
  try {
    if (type?.includes('json')) {
      const { state } = JSON.parse(body.toString()) as { state?: unknown };
      return typeof state === 'string' ? state : undefined;
    }
    const root = parseXml(body, { bytes: MAX_BYTES, depth: 8 });
    return root.name === element ? root.attributes.state : undefined;
  } catch {
    return undefined;
  }
}
