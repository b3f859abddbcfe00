// What a first visit loads, and what the binary carries.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const DIST = resolve(import.meta.dirname, '../../dist');

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? files(path) : [path];
  });
}

/** What a page needs: the file, and all that it names or imports at once. */
function needed(name: string, seen = new Set<string>()): Set<string> {
  const path = join(DIST, name);
  if (seen.has(name) || !existsSync(path)) return seen;
  seen.add(name);
  const text = readFileSync(path, 'utf8');
  if (name.endsWith('.html')) {
    for (const [, file] of text.matchAll(/(?:src|href)="\.\/([^"]+)"/g)) needed(file ?? '', seen);
  }
  if (name.endsWith('.js')) {
    for (const [, file] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g))
      needed(`assets/${file}`, seen);
  }
  if (name.endsWith('.css')) {
    for (const [, file] of text.matchAll(/url\(\.\/([^)]+)\)/g)) needed(`assets/${file}`, seen);
  }
  return seen;
}

test('a first visit of the tiers loads at most 150 kB', () => {
  const home = readdirSync(join(DIST, 'assets')).filter((name) =>
    /^Tiers-.*\.(js|css)$/.test(name),
  );
  const all = needed('index.html');
  for (const name of home) needed(`assets/${name}`, all);
  const bytes = [...all].map(
    (name) => gzipSync(readFileSync(join(DIST, name)), { level: 9 }).length,
  );
  const total = bytes.reduce((sum, it) => sum + it, 0);
  console.log(`first load: ${(total / 1000).toFixed(1)} kB in ${all.size} files`);
  expect(all.size).toBeGreaterThan(4);
  expect(total).toBeLessThanOrEqual(150_000);
});

test('the whole console takes at most 700 kB of the binary', () => {
  const total = files(DIST).reduce((sum, path) => sum + statSync(path).size, 0);
  console.log(`in the binary: ${(total / 1000).toFixed(1)} kB`);
  expect(total).toBeLessThanOrEqual(700_000);
});
