import { maskNonCode } from './masking.ts';
import { lineAt } from './sources.ts';

/** One import of a file, as written. A type import is gone when the program runs. */
export type Import = { specifier: string; typeOnly: boolean; line: number };

// `import … from '…'` and `export … from '…'`. Whatever could end the statement may not stand in between.
const STATEMENT =
  /\b(?:import|export)\b(?<type>\s+type\b(?!\s+from\b|\s*,))?[^'"`;=()]*?\bfrom\s*(?<quoted>(['"]) *\3)/dg;
const SIDE_EFFECT = /\bimport\s*(?<quoted>(['"]) *\2)/dg;
// `typeof import('…')` and `import('…').Name` stand for types.
const DYNAMIC = /(?<type>\btypeof\s+)?\bimport\s*\(\s*(?<quoted>(['"]) *\3)[^)]*\)(?<named>\s*\.\s*[A-Z])?/dg;

/** Finds what a source file imports, without a parser; comments, strings and templates do not confuse it. */
export function parseImports(source: string): Import[] {
  const masked = maskNonCode(source);
  return [STATEMENT, SIDE_EFFECT, DYNAMIC]
    .flatMap((pattern) => [...masked.matchAll(pattern)])
    .flatMap((match) => {
      const range = match.indices?.groups?.quoted;
      if (range === undefined) return [];
      const groups = match.groups ?? {};
      return {
        specifier: source.slice(range[0] + 1, range[1] - 1),
        typeOnly: groups.type !== undefined || groups.named !== undefined,
        line: lineAt(source, range[0]),
      };
    })
    .sort((a, b) => a.line - b.line);
}
