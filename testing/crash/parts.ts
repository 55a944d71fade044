/** The messages in the answer of a receive: one as it is, or several as multipart/mixed. */
import type { Answer } from '../http.ts';

export type Part = { location: string; body: string };

export function messagesIn(answer: Answer): Part[] {
  const boundary = /^multipart\/mixed;\s*boundary="?([^";]+)"?/i.exec(answer.headers['content-type'] ?? '')?.[1];
  if (boundary === undefined) return [{ location: answer.headers['content-location'] ?? '', body: answer.text() }];
  const sections = `\r\n${answer.text()}`.split(`\r\n--${boundary}`);
  return sections.slice(1, -1).map((section) => {
    const border = section.indexOf('\r\n\r\n');
    const head = section.slice(0, border);
    const location = /^content-location:\s*(\S+)/im.exec(head)?.[1] ?? '';
    return { location, body: section.slice(border + 4) };
  });
}
