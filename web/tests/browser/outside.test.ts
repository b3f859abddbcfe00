// What comes from outside is text, and much of it is no burden.
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Adapter } from '../support/adapter';
import { Console, launch } from '../support/browser';
import { Server, until } from '../support/server';

const TRAP = `<img src=x onerror="window.caught=1"><script>window.caught=1</script>{@html caught}`;
const MANY = 2000;

let adapter: Adapter;
let server: Server;
let browser: Browser;
let open: Console | undefined;

beforeAll(async () => {
  adapter = await Adapter.start(TRAP);
  const provider = `[providers.trap]\nkind = "plugin"\nurl = "${adapter.url}"`;
  [server, browser] = await Promise.all([Server.serve(provider), launch()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.clear();
  await adapter?.stop();
});
afterEach(async () => {
  const wrong = open?.wrong;
  await open?.close();
  open = undefined;
  expect(wrong ?? []).toEqual([]);
});

test('words of a provider and of a specification never become markup', async () => {
  const tiers = { pod: { provider: 'trap' } };
  await server.deploy({
    name: 'trapped',
    image: '<img/src=x/onerror=window.caught=1>',
    env: { WORDS: TRAP },
    tiers,
  });
  expect(await server.request('trapped')).toBe(503);
  open = await Console.open(browser, server);
  const { page } = open;
  await open.card('trapped', 'failed').getByText('onerror').waitFor();
  const shown: [string, string][] = [
    ['deployments/trapped', 'onerror'],
    ['deployments/trapped/specification', ''],
    ['decisions', ''],
    ['cold-starts', 'onerror'],
    ['providers', ''],
    [`deployments/${encodeURIComponent(TRAP)}`, 'onerror'],
    [encodeURIComponent(TRAP), 'onerror'],
  ];
  for (const [path, text] of shown) {
    await open.go(path);
    if (text) await page.getByText(text).first().waitFor();
    else await page.locator('main h1').first().waitFor();
  }
  await open.go('providers');
  const region = page.getByRole('region', { name: 'trap' });
  await region.getByRole('button', { name: 'Ask for its offers' }).click();
  await region.getByText('onerror').first().waitFor();
  await open.go('deployments/trapped/specification');
  await until(async () =>
    (await page.getByLabel('Specification, YAML').inputValue()).includes('onerror'),
  );
  expect(await page.evaluate(() => 'caught' in window)).toBe(false);
  expect(await page.locator('img[src="x"]').count()).toBe(0);
  await server.call('DELETE', '/deployments/trapped');
});

test('a deletion that its provider refuses is shown with its reason, until it is done', async () => {
  await server.deploy({ name: 'stuck', image: 'i:1', tiers: { pod: { provider: 'trap' } } });
  await server.request('stuck');
  open = await Console.open(browser, server);
  await open.card('stuck', 'pod').getByText('running').waitFor();
  await server.call('DELETE', '/deployments/stuck');
  const card = open.card('stuck');
  await card.getByText('deleting').waitFor();
  await card.getByText('onerror').waitFor();
  await open.go('deployments/stuck');
  await open.page.getByText('It cannot be deleted yet.').waitFor();
  adapter.refuses = false;
  await open.go('');
  await open.card('stuck').waitFor({ state: 'detached', timeout: 30_000 });
});

/** How long after a load the first card, or the word that there is none, is there, ms. */
async function firstCards(): Promise<number> {
  open = await Console.open(browser, server);
  const { page } = open;
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    await page.reload();
    await page.locator('[data-name], :text("No deployments yet")').first().waitFor();
    times.push(await page.evaluate(() => performance.now()));
  }
  expect(open.wrong).toEqual([]);
  await open.close();
  open = undefined;
  return Math.min(...times);
}

test('two thousand deployments are there no later than twice as late as none', async () => {
  await until(async () => (await server.call('GET', '/deployments')).body.items.length === 0);
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
  open = await Console.open(browser, server);
  await open.page.getByRole('button', { name: /^\d+ more$/ }).waitFor();
  await open.page.getByLabel('Filter by name').fill('many-1999');
  await open.card('many-1999', 'idle').waitFor();
  expect(await open.page.locator('[data-name]').count()).toBe(1);
  await open.page.getByLabel('Filter by name').fill('');
  await open.shot('many');
});
