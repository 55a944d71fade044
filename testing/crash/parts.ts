/** The messages in the answer of a receive: one as it is, or several as multipart/mixed. */
import type { Answer } from '../http.ts';
import { parseLinks } from '../links.ts';

export type Part = {
  location: string;
  body: string;
  /** How often it was handed out; NaN when the answer does not say. */
  deliveries: number;
  /** Where the verdict on this delivery goes, when it is leased. */
  acknowledgement: string | undefined;
};

export function messagesIn(answer: Answer): Part[] {
  const boundary = /^multipart\/mixed;\s*boundary="?([^";]+)"?/i.exec(answer.headers['content-type'] ?? '')?.[1];
  if (boundary === undefined) return [partOf((name) => answer.headers[name], answer.text())];
  const sections = `\r\n${answer.text()}`.split(`\r\n--${boundary}`);
  return sections.slice(1, -1).map((section) => {
    const border = section.indexOf('\r\n\r\n');
    const head = section.slice(0, border);
    const field = (name: string): string | undefined => new RegExp(`^${name}:\\s*(.*)$`, 'im').exec(head)?.[1];
    return partOf(field, section.slice(border + 4));
  });
}

function partOf(field: (name: string) => string | undefined, body: string): Part {
  return {
    location: field('content-location') ?? '',
    body,
    deliveries: Number(field('delivery-count') ?? Number.NaN),
    acknowledgement: parseLinks(field('link') ?? '').find(({ rel }) => rel === 'acknowledgement')?.href,
  };
}
