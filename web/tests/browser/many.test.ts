// Many deployments are no burden.
import type { Browser } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Console, launch } from '../support/browser';
import { Server } from '../support/server';

const MANY = 2000;

let server: Server;
let browser: Browser;

beforeEach(async () => {
  [server, browser] = await Promise.all([Server.serve(), launch()]);
});
afterEach(async () => {
  await browser?.close();
  await server?.clear();
});

/** How long after a load the first card, or the word that there is none, is there, ms. */
async function firstCards(): Promise<number> {
  const open = await Console.open(browser, server);
  const { page } = open;
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('[data-name], [data-nothing]')) return;
      performance.mark('first');
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
  });
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    await page.reload();
    await page.locator('[data-name], [data-nothing]').first().waitFor();
    times.push(
      await page.evaluate(() => performance.getEntriesByName('first')[0]?.startTime ?? Infinity),
    );
  }
  expect(open.wrong).toEqual([]);
  await open.close();
  return Math.min(...times);
}

test('two thousand deployments are there no later than twice as late as none', async () => {
  const none = await firstCards();
  const items = Array.from({ length: MANY }, (_, i) => ({
    name: `many-${i}`,
    image: 'demo/model',
    tiers: { serverless: { provider: 'toy' }, pod: { provider: 'toy' } },
  }));
  for (let at = 0; at < MANY; at += 500) {
    const { status, body } = await server.call('PUT', '/deployments', {
      items: items.slice(at, at + 500),
    });
    expect(status, JSON.stringify(body).slice(0, 300)).toBe(200);
  }
  const many = await firstCards();
  console.log(`first cards: none ${none.toFixed(0)} ms, ${MANY} deployments ${many.toFixed(0)} ms`);
  expect(many).toBeLessThanOrEqual(2 * none);
  const open = await Console.open(browser, server);
  await open.page.getByRole('button', { name: /^\d+ more$/ }).waitFor();
  await open.page.getByLabel('Filter by name').fill('many-1999');
  await open.card('many-1999', 'idle').waitFor();
  expect(await open.page.locator('[data-name]').count()).toBe(1);
  await open.page.getByLabel('Filter by name').fill('');
  await open.shot('many');
  await open.close();
});
