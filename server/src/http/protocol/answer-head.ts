/** The head of an answer as text. */
import { STATUS_CODES } from 'node:http';
import { type CleanValue, NOT_IN_A_VALUE } from './fields.ts';

/** How long a connection may be idle. Clients are told, so that they do not send into one that is being closed. */
export const KEEP_ALIVE_SECONDS = 30;

/** The names of RFC 9110 where the runtime has older ones. */
const NEWER_NAMES = { 413: 'Content Too Large', 422: 'Unprocessable Content' };

const statusLines = new Map(
  Object.entries({ ...STATUS_CODES, ...NEWER_NAMES }).map(([status, words]) => [
    Number(status),
    `HTTP/1.1 ${status} ${words}\r\n`,
  ]),
);

let second = 0;
let goesOn = '';
let ends = '';

/** The fields that end every head: they change once a second. */
function look(): void {
  const now = Date.now();
  if (now >= second && now < second + 1000) return;
  second = now - (now % 1000);
  const date = `Date: ${new Date(second).toUTCString()}\r\n`;
  goesOn = `${date}Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_SECONDS}\r\n\r\n`;
  ends = `${date}Connection: close\r\n\r\n`;
}

declare const isWhole: unique symbol;

/** Whole lines that hold nothing HTTP does not allow. They are not looked at again. */
export type FieldLines = string & { readonly [isWhole]: true };

export const NO_LINES = '' as FieldLines;

/** One line more, with a value that its maker answers for. */
export const withField = (lines: FieldLines, name: string, value: CleanValue | number): FieldLines =>
  `${lines}${name}: ${value}\r\n` as FieldLines;

/**
 * Names and values take turns in `fields`; `lines` are added as they are. `isLast`: the connection ends behind this
 * answer.
 */
export function answerHead(
  status: number,
  fields: readonly string[],
  isLast: boolean,
  lines: FieldLines = NO_LINES,
): string {
  let text = statusLines.get(status) ?? `HTTP/1.1 ${status} \r\n`;
  for (let i = 0; i < fields.length; i += 2) {
    const value = fields[i + 1] as string;
    // It would end the field, and what follows would be taken for fields of ours.
    if (NOT_IN_A_VALUE.test(value)) throw new Error(`the field ${fields[i]} has a value that HTTP does not allow`);
    text += `${fields[i]}: ${value}\r\n`;
  }
  look();
  return text + lines + (isLast ? ends : goesOn);
}
