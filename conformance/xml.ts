import { SaxesParser } from 'saxes';

/** An element as a client sees it: local names, the namespace apart. */
export type Element = {
  name: string;
  namespace: string;
  attributes: Record<string, string>;
  children: Element[];
  /** The text that stands directly in it. */
  text: string;
};

export const ATOM = 'http://www.w3.org/2005/Atom';

/** Reads a document; an error when it is not well-formed. */
export function parseXml(text: string): Element {
  const parser = new SaxesParser({ xmlns: true });
  const open: Element[] = [];
  let root: Element | undefined;
  parser.on('error', (error) => {
    throw new Error(`not well-formed XML: ${error.message}\n${text.slice(0, 500)}`);
  });
  parser.on('opentag', ({ local, uri, attributes }) => {
    const named = Object.entries(attributes).filter(([name]) => name !== 'xmlns' && !name.startsWith('xmlns:'));
    const element: Element = {
      name: local,
      namespace: uri,
      attributes: Object.fromEntries(named.map(([name, { value }]) => [name, value])),
      children: [],
      text: '',
    };
    open.at(-1)?.children.push(element);
    root ??= element;
    open.push(element);
  });
  parser.on('closetag', () => void open.pop());
  const addText = (piece: string) => {
    const element = open.at(-1);
    if (element !== undefined) element.text += piece;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.write(text).close();
  if (root === undefined) throw new Error('an XML document without an element');
  return root;
}

/** The text of the first child of this name; undefined when there is none. */
export function childText(element: Element, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}

/** Makes text safe to stand in an element or in a quoted attribute. */
export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
