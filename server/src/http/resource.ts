/** One address, written once: its template yields the router's pattern and every href. */

type ParameterNames<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;

export type Parameters<T extends string> = { readonly [Name in ParameterNames<T>]: string };

declare const isClean: unique symbol;

/** The address of a resource as it may stand in any field: its literal parts are plain, and all others are encoded. */
export type Href = string & { readonly [isClean]: true };

export interface Resource<T extends string = string> {
  readonly template: T;
  /** The template as the router writes it. */
  readonly pattern: string;
  readonly parameters: readonly string[];
  href(parameters: Parameters<T>): Href;
}

export function resource<T extends string>(template: T): Resource<T> {
  const parts = template.split(/\{([^}]+)\}/);
  const parameters = parts.filter((_, index) => index % 2 === 1);
  return {
    template,
    // The router reads `-` as the end of a name.
    pattern: template.replace(/\{([^}]+)\}/g, (_, name: string) => `:${name.replaceAll('-', '_')}`),
    parameters,
    href(values) {
      let path = parts[0] as string;
      for (let i = 1; i < parts.length; i += 2) {
        const value = (values as Record<string, string>)[parts[i] as string] as string;
        path += encodePart(value) + parts[i + 1];
      }
      return path as Href;
    },
  };
}

const SAFE = /^[A-Za-z0-9._~-]*$/;
const encodePart = (value: string): string => (SAFE.test(value) ? value : encodeURIComponent(value));
