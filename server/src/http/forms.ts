/** A strict reader of application/x-www-form-urlencoded bodies. */

/** A form that cannot be read; the message says why. */
export class FormError extends Error {
  override readonly name = 'FormError';
}

// Our forms have a handful of fields. The bound keeps a body of ampersands from becoming millions of strings.
const maxFields = 1000;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads the fields, each name with its values in order; throws `FormError` when the body cannot be read. */
export function parseForm(body: Buffer): Map<string, string[]> {
  const text = decodeBytes(body);
  const fields = new Map<string, string[]>();
  let count = 0;
  for (let from = 0; from < text.length; ) {
    let end = text.indexOf('&', from);
    if (end < 0) end = text.length;
    if (end > from) {
      count += 1;
      if (count > maxFields) throw new FormError(`the form has more than ${maxFields} fields`);
      const field = text.slice(from, end);
      const equals = field.indexOf('=');
      const name = decodeText(equals < 0 ? field : field.slice(0, equals), count);
      const value = equals < 0 ? '' : decodeText(field.slice(equals + 1), count);
      const values = fields.get(name);
      if (values === undefined) fields.set(name, [value]);
      else values.push(value);
    }
    from = end + 1;
  }
  return fields;
}

function decodeBytes(body: Buffer): string {
  try {
    return decoder.decode(body);
  } catch {
    throw new FormError('the form is not valid UTF-8');
  }
}

function decodeText(text: string, field: number): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new FormError(`field ${field} of the form has a bad percent-encoding or is not UTF-8`);
  }
}
