/** Content negotiation by the Accept header (RFC 9110, section 12.5.1). */
import { type MediaType, type Parameter, readMediaType, splitList } from './field-reader.ts';

interface Range extends MediaType {
  readonly quality: number;
}

/** How closely a range names an offer. The closest range decides the offer's quality. */
const Closeness = { none: -1, anything: 0, type: 1, family: 2, exact: 3, parameters: 4 } as const;

/**
 * Chooses among the offers, which stand in the server's order of preference; undefined when none is acceptable. Of
 * offers the client likes equally, one it named goes before one it only did not rule out with a wildcard (so that
 * a client asking for JSON, or else anything, gets JSON); after that the server's order decides.
 */
export function chooseMediaType(accept: string | undefined, offers: readonly string[]): string | undefined {
  if (accept === undefined || accept === '*/*' || accept === '') return offers[0];
  if (offers.includes(accept)) return accept;
  const ranges = splitList(accept).flatMap((element) => readRange(element) ?? []);
  if (ranges.length === 0) return offers[0];

  let best: { offer: string; quality: number; named: number } | undefined;
  for (const offer of offers) {
    const { quality, closeness } = judge(offer, ranges);
    if (quality === 0) continue;
    // A range for the whole family names an offer as well as its own name does.
    const named = Math.min(closeness, Closeness.family);
    if (best === undefined || quality > best.quality || (quality === best.quality && named > best.named)) {
      best = { offer, quality, named };
    }
  }
  return best?.offer;
}

/**
 * Whether the client asks for this type by its name, at least as much as for another one that could be served instead, or
 * as for anything else it would take.
 */
export function wantsNamed(accept: string | undefined, type: string, other?: string): boolean {
  const ranges = splitList(accept ?? '').flatMap((element) => readRange(element) ?? []);
  const [named, others] = [ranges.filter(isNamed), ranges.filter((range) => !isNamed(range))];
  const wish = Math.max(0, ...named.map(({ quality }) => quality));
  // What a sender calls the type of a message need not be one.
  const known = other !== undefined && readMediaType(other) === undefined ? 'application/octet-stream' : other;
  const rival =
    known === undefined ? Math.max(0, ...others.map(({ quality }) => quality)) : judge(known, ranges).quality;
  return wish > 0 && wish >= rival;

  function isNamed({ essence }: Range): boolean {
    return essence === type;
  }
}

/**
 * Whether the client asks for this type by its name and prefers it to the one it gets otherwise: that is for those who
 * leave the choice to the server, by wildcards or by liking both equally.
 */
export function prefersNamed(accept: string | undefined, type: string, other: string): boolean {
  return wantsNamed(accept, essenceOf(type), other) && chooseMediaType(accept, [other, type]) === type;
}

const essenceOf = (type: string): string => readMediaType(type)?.essence ?? type;

function readRange(element: string): Range | undefined {
  // Some old clients send a bare star for "anything".
  const media = readMediaType(element.replace(/^\*(?=\s*(;|$))/, '*/*'));
  if (media === undefined) return undefined;
  const weight = media.parameters.find(({ name }) => name === 'q');
  if (weight !== undefined && !/^(\d(\.\d*)?|\.\d+)$/.test(weight.value)) return undefined;
  const quality = weight === undefined ? 1 : Math.min(Number(weight.value), 1);
  return { essence: media.essence, parameters: media.parameters.filter(({ name }) => name !== 'q'), quality };
}

function judge(offer: string, ranges: readonly Range[]): { quality: number; closeness: number } {
  const media = readMediaType(offer);
  if (media === undefined) throw new TypeError(`not a media type: ${offer}`);
  let quality = 0;
  let closeness: number = Closeness.none;
  for (const range of ranges) {
    const found = closenessOf(media, range);
    if (found > closeness || (found === closeness && found >= 0 && range.quality > quality)) {
      closeness = found;
      quality = range.quality;
    }
  }
  return { quality, closeness };
}

function closenessOf(offer: MediaType, range: Range): number {
  if (range.essence === '*/*') return Closeness.anything;
  if (range.essence.endsWith('/*')) {
    return offer.essence.startsWith(range.essence.slice(0, -1)) ? Closeness.type : Closeness.none;
  }
  if (range.essence !== offer.essence)
    return sameFamily(offer.essence, range.essence) ? Closeness.family : Closeness.none;
  let asked = 0;
  for (const parameter of range.parameters) {
    if (hasParameter(offer, parameter)) asked += 1;
    // Everything textual is UTF-8 here, and clients add charset out of habit: it must not cost them the answer.
    else if (parameter.name !== 'charset') return Closeness.none;
  }
  return asked > 0 ? Closeness.parameters : Closeness.exact;
}

function hasParameter(offer: MediaType, asked: Parameter): boolean {
  return offer.parameters.some(
    ({ name, value }) => name === asked.name && value.toLowerCase() === asked.value.toLowerCase(),
  );
}

/** `application/xml` and `text/xml` ask for any XML there is, `application/json` for any JSON. */
function sameFamily(offer: string, asked: string): boolean {
  if (asked === 'application/json') return offer.endsWith('+json');
  if (asked !== 'application/xml' && asked !== 'text/xml') return false;
  return offer.endsWith('+xml') || offer === 'application/xml' || offer === 'text/xml';
}
