import type { CDPSession, Page } from 'playwright-core';

/** What a page keeps alive, as the browser's own tools see it. */
export class Heap {
  private constructor(readonly session: CDPSession) {}

  static async of(page: Page): Promise<Heap> {
    const session = await page.context().newCDPSession(page);
    await session.send('HeapProfiler.enable');
    return new Heap(session);
  }

  /** Bytes in use after a garbage collection. */
  async used(): Promise<number> {
    await this.session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await this.session.send('Runtime.getHeapUsage');
    return usedSize;
  }

  /** Bytes of what is alive, by kind and by constructor. */
  async kinds(): Promise<Map<string, number>> {
    const chunks: string[] = [];
    const keep = ({ chunk }: { chunk: string }) => chunks.push(chunk);
    this.session.on('HeapProfiler.addHeapSnapshotChunk', keep);
    await this.session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
    this.session.off('HeapProfiler.addHeapSnapshotChunk', keep);
    return summed(JSON.parse(chunks.join('')) as Snapshot);
  }
}

/** As DevTools writes it: nodes are rows of so many numbers, one after another. */
interface Snapshot {
  snapshot: { meta: { node_fields: string[]; node_types: [string[], ...unknown[]] } };
  nodes: number[];
  strings: string[];
}

function summed({ snapshot, nodes, strings }: Snapshot): Map<string, number> {
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [type, name, size] = ['type', 'name', 'self_size'].map((it) => fields.indexOf(it));
  const sums = new Map<string, number>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = types[0][nodes[at + (type ?? 0)] ?? 0] ?? '';
    // Strings and numbers have no constructor, and code is of many functions.
    const own =
      kind === 'object' || kind === 'native' ? ` ${strings[nodes[at + (name ?? 0)] ?? 0]}` : '';
    const key = kind + own;
    sums.set(key, (sums.get(key) ?? 0) + (nodes[at + (size ?? 0)] ?? 0));
  }
  return sums;
}

/** Kinds of the script's heap; what is native is the browser's, and much of it its tools'. */
function isScripts(kind: string): boolean {
  return !kind.startsWith('native');
}

/** Bytes of the script's heap without the code that the engine compiles as it sees
 * what runs often: that comes within minutes and then stays. */
export function kept(kinds: Map<string, number>): number {
  const data = [...kinds].filter(([kind]) => isScripts(kind) && kind !== 'code');
  return data.reduce((sum, [, bytes]) => sum + bytes, 0);
}

/** What has grown most from one look to another, kB. */
export function growth(before: Map<string, number>, after: Map<string, number>): string[] {
  const scripts = [...after].filter(([kind]) => isScripts(kind));
  const kinds = scripts.map(([kind, bytes]) => ({ kind, by: bytes - (before.get(kind) ?? 0) }));
  const most = kinds.sort((a, b) => b.by - a.by).slice(0, 8);
  return most.map(({ kind, by }) => `${(by / 1000).toFixed(0)} kB ${kind}`);
}
