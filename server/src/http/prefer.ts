/** The Prefer and Preference-Applied header fields (RFC 7240). */
import { atEnd, readParameter, readParameters, skipSpaces, splitList } from './field-reader.ts';

/** What the client would like. */
export interface Preferences {
  respondAsync: boolean;
  /** Seconds, whole or decimal. */
  wait?: number;
  return?: 'minimal' | 'representation';
  handling?: 'strict' | 'lenient';
}

/** Reads a Prefer value. What cannot be read or is not known is ignored; of what is said twice, the first counts. */
export function parsePrefer(value: string | undefined): Preferences {
  const preferences: Preferences = { respondAsync: false };
  if (value === undefined) return preferences;
  for (const element of splitList(value)) {
    const cursor = { text: element, at: 0 };
    const preference = readParameter(cursor);
    if (preference === undefined) continue;
    // Parameters of a preference mean nothing to us but must be readable.
    if (readParameters(cursor) === undefined) continue;
    skipSpaces(cursor);
    if (atEnd(cursor)) note(preferences, preference.name, preference.value);
  }
  return preferences;
}

function note(preferences: Preferences, name: string, value: string): void {
  if (name === 'respond-async') {
    if (value === '') preferences.respondAsync = true;
  } else if (name === 'wait') {
    if (/^\d{1,12}(\.\d{1,9})?$/.test(value)) preferences.wait ??= Number(value);
  } else if (name === 'return') {
    if (value === 'minimal' || value === 'representation') preferences.return ??= value;
  } else if (name === 'handling') {
    if (value === 'strict' || value === 'lenient') preferences.handling ??= value;
  }
}

/** A preference that was honoured. */
export type AppliedPreference =
  | 'respond-async'
  | `wait=${number}`
  | `return=${'minimal' | 'representation'}`
  | `handling=${'strict' | 'lenient'}`;

/** Writes a Preference-Applied value; undefined, so that the field is left out, when nothing was honoured. */
export function preferenceApplied(honoured: readonly AppliedPreference[]): string | undefined {
  return honoured.length === 0 ? undefined : honoured.join(', ');
}
