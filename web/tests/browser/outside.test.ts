// What comes from outside is text.
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Adapter } from '../support/adapter';
import { Console, launch } from '../support/browser';
import { Server, until } from '../support/server';

const TRAP = `<img src=x onerror="window.caught=1"><script>window.caught=1</script>{@html caught}`;

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
  adapter.refuses = false;
  await server.empty();
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
});

test('a deletion that its provider refuses is shown with its reason, until it is done', async () => {
  adapter.refuses = true;
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
