// What comes from outside is text.
import { afterAll, expect, test } from 'vitest';
import { Adapter } from '../support/adapter';
import { Server, until } from '../support/server';
import { Stage } from '../support/stage';

const TRAP = `<img src=x onerror="window.caught=1"><script>window.caught=1</script>{@html caught}`;

let adapter: Adapter;

const stage = Stage.of(
  async () => {
    adapter = await Adapter.start(TRAP);
    return Server.serve(`[providers.trap]\nkind = "plugin"\nurl = "${adapter.url}"`);
  },
  async (server) => {
    adapter.refuses = false;
    await server.empty();
  },
);
afterAll(() => adapter?.stop());

test('words of a provider and of a specification never become markup', async () => {
  const tiers = { pod: { provider: 'trap' } };
  await stage.server.deploy({
    name: 'trapped',
    image: '<img/src=x/onerror=window.caught=1>',
    env: { WORDS: TRAP },
    tiers,
  });
  expect(await stage.server.request('trapped')).toBe(503);
  const open = await stage.open();
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
  await stage.server.deploy({ name: 'stuck', image: 'i:1', tiers: { pod: { provider: 'trap' } } });
  await stage.server.request('stuck');
  const open = await stage.open();
  await open.card('stuck', 'pod').getByText('running').waitFor();
  await stage.server.call('DELETE', '/deployments/stuck');
  const card = open.card('stuck');
  await card.getByText('deleting').waitFor();
  await card.getByText('onerror').waitFor();
  await open.go('deployments/stuck');
  await open.page.getByText('It cannot be deleted yet.').waitFor();
  adapter.refuses = false;
  await open.go('');
  await open.card('stuck').waitFor({ state: 'detached', timeout: 30_000 });
});
