/**
 * The content element of an Atom entry (RFC 4287, section 4.1.3), read as a message and written from one. What is written
 * here is read here as the same Content-Type and the same bytes.
 */
import { isUtf8, readMediaType } from './field-reader.ts';
import { ATOM, parseXml, renderFragment, renderXml, type XmlElement, XmlError, type XmlNode } from './xml.ts';

/** The content of one entry, ready to be a message. */
export interface AtomMessage {
  /** Null: it has none, which only our own attribute can say. */
  contentType: string | null;
  body: Buffer;
}

/** Where the attributes and elements stand that Atom has no word for. */
export const WAYPOST = 'urn:waypost';

const XHTML = 'http://www.w3.org/1999/xhtml';
const BYTES = 'application/octet-stream';

export type Fail = (message: string) => never;

/** Reads a content element. `ancestors` are those from the root down to the element itself. */
export function readContent(content: XmlElement, ancestors: readonly XmlElement[], fail: Fail): AtomMessage {
  if (content.attributes.src !== undefined) fail('content by reference (src) is not accepted; put the content inline');
  const type = (content.attributes.type ?? 'text').trim();
  const own = ownType(content, type, fail);
  if (type === 'text') return textMessage('text/plain;charset=utf-8', content, fail);
  if (type === 'html') return textMessage('text/html', content, fail);
  if (type === 'xhtml') {
    const div = onlyChild(content, type, fail);
    if (div.name !== 'div' || div.namespace !== XHTML)
      fail(`content of type xhtml must be one div element of ${XHTML}`);
    return xmlMessage('application/xhtml+xml', div, ancestors);
  }

  const kind = kindOf(type);
  if (kind === undefined) {
    return fail(`the content type ${JSON.stringify(type.slice(0, 60))} is neither text, html, xhtml nor a media type`);
  }
  const { essence, form, charset } = kind;
  if (form !== 'base64' && charset !== undefined && !isUtf8(charset)) {
    fail(`text is handed on in UTF-8, so the type cannot have the charset ${charset.slice(0, 40)}`);
  }
  if (form === 'xml') return xmlMessage(type, onlyChild(content, type, fail), ancestors);
  if (form === 'text') return textMessage(type, content, fail);
  if (content.children.length > 0) fail(`content of type ${essence} must be base64, without elements`);
  const body = decodeBase64(content.text, essence, fail);
  return { contentType: own === undefined ? type : own, body };
}

interface Kind {
  readonly essence: string;
  readonly form: 'xml' | 'text' | 'base64';
  readonly charset: string | undefined;
}

/** In which form RFC 4287 has content of a media type; undefined for what is none. */
function kindOf(type: string): Kind | undefined {
  const media = /^[ -~]*$/.test(type) ? readMediaType(type) : undefined;
  if (media === undefined || media.essence.includes('*')) return undefined;
  const { essence, parameters } = media;
  const isXml = essence.endsWith('+xml') || essence.endsWith('/xml');
  const charset = parameters.find(({ name }) => name === 'charset')?.value;
  return { essence, form: isXml ? 'xml' : essence.startsWith('text/') ? 'text' : 'base64', charset };
}

// A Content-Type becomes a field of answers again, so it may hold nothing that a field cannot.
const fieldValue = /^(?:[!-~\x80-\xFF](?:[\t -~\x80-\xFF]*[!-~\x80-\xFF])?)?$/;

/** What our own attributes say of the message's Content-Type (null: it has none); undefined when they are not there. */
function ownType(content: XmlElement, type: string, fail: Fail): string | null | undefined {
  const said = (wanted: string): string | undefined =>
    content.foreign.find(({ name, namespace }) => namespace === WAYPOST && name === wanted)?.value;
  const [contentType, untyped] = [said('content-type'), said('untyped')];
  if (contentType === undefined && untyped === undefined) return undefined;
  if (type !== BYTES) fail(`content-type and untyped of ${WAYPOST} belong to content of type ${BYTES}`);
  if (contentType === undefined) return untyped === 'true' ? null : fail('untyped can only be true');
  if (untyped !== undefined) fail('content-type and untyped exclude each other');
  return fieldValue.test(contentType) ? contentType : fail('content-type holds what no Content-Type can');
}

function textMessage(contentType: string, content: XmlElement, fail: Fail): AtomMessage {
  if (content.children.length > 0) fail('content of a text type must be text, with any markup escaped');
  return { contentType, body: Buffer.from(content.text) };
}

/**
 * Takes the element out of the feed. The namespaces declared around it go with it, because a prefix may also stand
 * inside a value, where it cannot be seen.
 */
function xmlMessage(contentType: string, element: XmlElement, ancestors: readonly XmlElement[]): AtomMessage {
  const declarations: Record<string, string> = Object.create(null);
  for (const { declarations: own } of [...ancestors, element]) Object.assign(declarations, own);
  return { contentType, body: Buffer.from(renderFragment({ ...element, declarations })) };
}

function onlyChild(content: XmlElement, type: string, fail: Fail): XmlElement {
  const [child] = content.children;
  if (child === undefined || content.children.length > 1 || content.text.trim() !== '') {
    return fail(`content of type ${type.slice(0, 60)} must be exactly one element`);
  }
  return child;
}

function decodeBase64(text: string, type: string, fail: Fail): Buffer {
  const digits = text.replace(/[ \t\r\n]+/g, '');
  const body = Buffer.from(digits, 'base64');
  // Node skips what it does not know; only what encodes back the same was base64.
  if (body.toString('base64') !== digits) fail(`content of type ${type} must be base64, which this is not`);
  return body;
}

/** A content element that was written. */
export interface WrittenContent {
  readonly element: XmlNode;
  readonly form: 'xml' | 'text' | 'base64';
}

const content = (attributes: Record<string, string>, ...children: (XmlNode | string)[]): XmlNode => ({
  name: 'content',
  namespace: ATOM,
  attributes,
  children,
});

/** How many bytes of XML may still be parsed to see whether they can be inlined. Writing takes off what it parsed. */
export interface InlineRoom {
  bytes: number;
}

/**
 * Writes a message as a content element of a feed that declares no other namespace than Atom's, as the default one.
 * Whatever Atom's own forms would change goes as bytes, with the message's Content-Type beside it; so does XML that there
 * is no room for.
 */
export function writeContent({ contentType, body }: AtomMessage, room: InlineRoom): WrittenContent {
  const kind = contentType === null ? undefined : writableKind(contentType);
  if (contentType === null || kind === undefined) return asBytes(contentType, body);
  const { form } = kind;
  if (form === 'base64') return { element: content({ type: contentType }, body.toString('base64')), form };
  const text = form === 'text' ? plainText(body) : undefined;
  if (text !== undefined) return { element: content({ type: contentType }, text), form };
  // RFC 4287 lets no text and no XML stand as base64 under its own type.
  return (form === 'xml' ? inlineXml(contentType, body, room) : undefined) ?? asBytes(contentType, body);
}

function asBytes(contentType: string | null, body: Buffer): WrittenContent {
  const own = contentType === null ? { name: 'untyped', value: 'true' } : { name: 'content-type', value: contentType };
  const foreign = [{ prefix: 'waypost', namespace: WAYPOST, ...own }];
  return { element: { ...content({ type: BYTES }, body.toString('base64')), foreign }, form: 'base64' };
}

// Readers of messages are lenient; other readers of the feed are owed a media type by the letter (RFC 2045).
const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const strictType = new RegExp(`^${token}/${token}(?: *; *${token}=(?:${token}|"(?:[ !#-\\[\\]-~]|\\\\[ -~])*"))*$`);

/** The kind of a type under which a message can stand in a feed, with its charset as it is. */
function writableKind(type: string): Kind | undefined {
  const kind = strictType.test(type) ? kindOf(type) : undefined;
  // RFC 4287: the type of content must not be a composite one.
  if (kind === undefined || /^(?:multipart|message)\//.test(kind.essence)) return undefined;
  const isKept = kind.form === 'base64' || kind.charset === undefined || isUtf8(kind.charset);
  return isKept ? kind : undefined;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
// A carriage return would be kept if it was escaped, but what handles feeds as text tends to tidy up line ends.
// Without the halves of surrogate pairs, which text in UTF-8 never has: to look for them takes most of the time.
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what XML cannot hold.
const notPlain = /[\0-\x08\x0b-\x1f\uFFFE\uFFFF]/;
const MOST_ESCAPES = 1000;

/** A body as text that XML hands on unchanged; undefined for any other, and for one that escapes would blow up. */
function plainText(body: Buffer): string | undefined {
  const text = decoded(body);
  if (text === undefined || notPlain.test(text)) return undefined;
  if (body.length <= MOST_ESCAPES) return text;
  let escapes = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === 0x26 || byte === 0x3c || byte === 0x3e) escapes += 1;
  }
  // An escape is up to four bytes more; base64 is a third more, whatever comes.
  return escapes <= MOST_ESCAPES || escapes * 12 <= body.length ? text : undefined;
}

function decoded(body: Buffer): string | undefined {
  try {
    return decoder.decode(body);
  } catch {
    return undefined;
  }
}

/** XML as an element, when reading that gives every byte back: no declaration, comment, CDATA or odd spacing is lost. */
function inlineXml(type: string, body: Buffer, room: InlineRoom): WrittenContent | undefined {
  // Most of what cannot be inlined has a declaration, or a line break at its end.
  const isBare = body[0] === 0x3c && body[1] !== 0x3f && body[1] !== 0x21 && body.at(-1) === 0x3e;
  if (!isBare || body.length > room.bytes) return undefined;
  room.bytes -= body.length;
  try {
    const root = parseXml(body);
    // Said in so many words, so that the element does not inherit Atom's namespace.
    const element = content({ type }, { ...root, declarations: { '': '', ...root.declarations } });
    const feed = parseXml(
      renderXml({ name: 'feed', namespace: ATOM, children: [{ name: 'entry', children: [element] }] }),
    );
    const [entry] = feed.children;
    const [written] = entry?.children ?? [];
    if (entry === undefined || written === undefined) return undefined;
    const fail: Fail = (message) => {
      throw new TypeError(message);
    };
    const read = readContent(written, [feed, entry, written], fail);
    return read.body.equals(body) ? { element, form: 'xml' } : undefined;
  } catch (error) {
    // Not XML, or nested so deep that three more elements around it are too many.
    if (error instanceof XmlError) return undefined;
    throw error;
  }
}
