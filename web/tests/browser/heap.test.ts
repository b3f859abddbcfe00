// A console that is left open takes no more and more memory. It takes as long as
// it is told to: HEAP_MINUTES=60 make web-test ARGS=heap
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Console, launch } from '../support/browser';
import { growth, Heap, kept } from '../support/heap';
import { Server, until } from '../support/server';

const MINUTES = Number(process.env.HEAP_MINUTES ?? 0);
/** Of what the page keeps, from its first minute to its last. */
const MOST_KEPT = 1.2;
/** Of everything, once the engine has compiled what runs all the time. */
const WARM = 5;
const MOST_GROWTH = 1.1;

let server: Server;
let browser: Browser;

beforeAll(async () => {
  if (MINUTES === 0) return;
  [server, browser] = await Promise.all([Server.demo(), launch()]);
  await until(async () => (await server.call('GET', '/decisions')).body.items.length > 0);
});
afterAll(async () => {
  await browser?.close();
  await server?.clear();
});

const minute = () => new Promise((done) => setTimeout(done, 60_000));

/** Waits until the table of what ends is as long as it gets. */
async function full(page: Page): Promise<void> {
  const rows = page.getByRole('region', { name: 'As they end' }).locator('tbody tr');
  await until(async () => (await rows.count()) >= 200, 120_000);
}
const VIEWS = [
  { path: '', settled: (page: Page) => page.locator('[data-name]').nth(4).waitFor() },
  {
    path: 'deployments/chat',
    settled: (page: Page) => page.getByRole('slider').first().waitFor(),
  },
  { path: 'requests', settled: full },
];

for (const { path, settled } of VIEWS) {
  test
    .runIf(MINUTES > 0)
    .concurrent(
      `#/${path} under the demo's traffic`,
      { timeout: (MINUTES + 5) * 60_000, retry: 0 },
      async () => {
        const open = await Console.open(browser, server);
        await open.go(path);
        await settled(open.page);
        const heap = await Heap.of(open.page);
        const used = [await heap.used()];
        const first = await heap.kinds();
        for (let passed = 0; passed < MINUTES; passed++) {
          await minute();
          used.push(await heap.used());
        }
        const last = await heap.kinds();
        const megabytes = used.map((bytes) => (bytes / 1e6).toFixed(2)).join(' ');
        const data = kept(last) / kept(first);
        console.log(
          `#/${path}, MB each minute: ${megabytes}; without compiled code × ${data.toFixed(3)}`,
        );
        console.log(`#/${path} has grown by ${growth(first, last).join(', ')}`);
        expect(open.wrong).toEqual([]);
        await open.close();
        expect(data).toBeLessThanOrEqual(MOST_KEPT);
        const warm = used[Math.min(WARM, MINUTES)] ?? 0;
        expect((used.at(-1) ?? 0) / warm).toBeLessThanOrEqual(MOST_GROWTH);
      },
    );
}
