import { isMap, isSeq, LineCounter, parseDocument, stringify } from 'yaml';

/** A mistake in a document, and the line it is on, from 1. */
export interface Mistake {
  field: string;
  message: string;
  line: number;
}

/** The order in which people read a specification; the rest follows by name. */
const ORDER = [
  'name',
  'image',
  'command',
  'args',
  'port',
  'protocol',
  'env',
  'resources',
  'health',
  'tiers',
  'provider',
  'policy',
];

/** A document as YAML. */
export function write(document: unknown): string {
  const place = (key: unknown) => (ORDER.indexOf(String(key)) + 1 || ORDER.length + 1) - 1;
  return stringify(document, {
    lineWidth: 0,
    sortMapEntries: ({ key: a }, { key: b }) =>
      place(a) - place(b) || String(a).localeCompare(String(b)),
  });
}

/** The document of a text, or why it is none. */
export function read(text: string): { document?: unknown; mistakes: Mistake[] } {
  const lines = new LineCounter();
  const parsed = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const mistakes = parsed.errors.map((error) => ({
    field: '',
    message: error.message,
    line: lines.linePos(error.pos[0]).line,
  }));
  return mistakes.length > 0 ? { mistakes } : { document: parsed.toJS(), mistakes };
}

/** The line of a field as `tiers.pod.gpu[0]`, or of the nearest one around it. */
export function lineOf(text: string, field: string): number {
  const lines = new LineCounter();
  let node: unknown = parseDocument(text, { lineCounter: lines }).contents;
  let line = 1;
  for (const word of field.split(/[.[\]]+/).filter((part) => part !== '')) {
    if (isMap(node)) {
      const pair = node.items.find((item) => String(item.key) === word);
      if (!pair) return line;
      line = lineAt(lines, pair.key) ?? line;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(word)];
      line = lineAt(lines, node) ?? line;
    } else {
      return line;
    }
  }
  return line;
}

function lineAt(lines: LineCounter, node: unknown): number | undefined {
  const range = (node as { range?: [number, number, number] } | undefined)?.range;
  return range && lines.linePos(range[0]).line;
}
