// The views under the traffic of `thermocline demo`.
import { expect, test } from 'vitest';
import type { Console } from '../support/browser';
import { Server, until } from '../support/server';
import { Stage } from '../support/stage';

const stage = Stage.of(async () => {
  const server = await Server.demo();
  // The first promotion comes within seconds; views have something to show then.
  await until(async () => (await server.call('GET', '/decisions')).body.items.length > 0);
  return server;
});

async function view(path: string, options = {}): Promise<Console> {
  const open = await stage.open(options);
  await open.go(path);
  return open;
}

test('the tiers: where everything is, and what it costs now', async () => {
  const console = await view('');
  await console.card('vision', 'dedicated').waitFor();
  await until(async () => (await console.page.locator('[data-name]').count()) >= 5);
  const pods = (await stage.server.call('GET', '/instances')).body.items;
  expect(pods.length).toBeGreaterThan(0);
  await until(async () => {
    const { items } = (await stage.server.call('GET', '/instances')).body;
    const total = items.reduce(
      (sum: number, it: { usd_per_hour: number | null }) => sum + (it.usd_per_hour ?? 0),
      0,
    );
    const shown = await console.page.locator('[data-total]').textContent();
    return total > 0 && shown === `$${total.toFixed(2)}/h`;
  });
  await console.page.getByLabel('Latest moves').getByText('→').first().waitFor();
  await console.accessible();
  await console.shot('tiers');
});

test('a deployment: its rate with both lines, and why it is where it is', async () => {
  const console = await view('deployments/chat');
  await console.page.getByRole('img', { name: /promote and demote lines/ }).waitFor();
  await console.page.getByText(/A request that came now would go to/).waitFor();
  await console.page
    .getByRole('link', { name: /^Decision at/ })
    .first()
    .waitFor();
  await console.page.getByRole('button', { name: '20 min' }).click();
  await console.accessible();
  await console.shot('deployment');
});

test('a deployment: where else its lines could be, and what that would have cost', async () => {
  const console = await view('deployments/chat');
  const { page } = console;
  const promote = page.getByRole('slider', { name: 'Promote line' });
  const before = Number(await promote.getAttribute('aria-valuenow'));
  await promote.focus();
  await page.keyboard.press('ArrowUp');
  const said = page.locator('[data-simulated]');
  await said.getByText(/would have cost/).waitFor();
  expect(Number(await promote.getAttribute('aria-valuenow'))).toBeGreaterThan(before);

  const box = await promote.boundingBox();
  if (!box) throw new Error('the handle is not on the page');
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x, y - 15, { steps: 5 });
  await page.mouse.up();
  const wanted = Number(await promote.getAttribute('aria-valuenow'));
  expect(wanted).toBeGreaterThan(before * 1.06);
  await page.getByRole('columnheader', { name: 'As drawn' }).waitFor();
  await console.accessible();
  await console.shot('other-lines');

  await page.getByRole('button', { name: 'Put in force…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/curl -X PATCH .*promote_rps/).waitFor();
  await dialog.getByRole('button', { name: 'Put in force', exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
  const { body } = await stage.server.call('GET', '/deployments/chat');
  expect(body.spec.policy.promote_rps).toBe(wanted);
  await page.getByText('Drag a line in the chart').waitFor();
  const { policy } = body.spec;
  await stage.server.call('PATCH', '/deployments/chat', {
    policy: { ...policy, promote_rps: before },
  });
});

test('the specification: a mistake is shown at its field', async () => {
  const console = await view('deployments/chat/specification');
  const text = console.page.getByLabel('Specification, YAML');
  await text.fill((await text.inputValue()).replace(/promote_rps: .*/, 'promote_rps: 0'));
  await console.page.getByRole('button', { name: 'Put in force' }).click();
  const mistake = console.page.getByRole('alert').first();
  await mistake.getByText(/Line \d+, policy/).waitFor();
  await console.accessible();
  await console.shot('specification');
});

test('decisions: why, with what the policy saw, under an address of its own', async () => {
  const console = await view('decisions');
  await console.page
    .getByRole('link', { name: /^Decision \d+, why/ })
    .first()
    .click();
  await console.page.getByText('This one fired:').waitFor();
  expect(console.page.url()).toMatch(/#\/decisions\/\d+$/);
  await console.page.getByText(/^thermocline explain \w+ --decision \d+$/).waitFor();
  await console.accessible();
  await console.shot('decision');
  await console.go('decisions');
  await console.page.getByRole('table').waitFor();
  await console.shot('decisions');
});

test('cost: what was paid, and what it would have cost otherwise', async () => {
  const console = await view('cost');
  const spent = console.page.locator('[data-spent]');
  await until(async () => {
    await console.go('');
    await console.go('cost');
    await spent.waitFor();
    return Number((await spent.textContent())?.slice(1)) > 0;
  });
  await console.page.getByText('What it would have cost otherwise').waitFor();
  const download = console.page.waitForEvent('download');
  await console.page.getByRole('button', { name: 'Save as CSV' }).click();
  const stream = await (await download).createReadStream();
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  expect(text.split('\r\n')[0]).toBe('hour,deployment,tier,provider,hours,usd,idle_usd');
  expect(text).toMatch(/,pod,sim,/);
  expect(await console.page.locator('[data-bar]').count()).toBe(25);
  await console.page
    .locator('[data-idle]')
    .getByText(/^\d+ %$/)
    .waitFor();
  await console.accessible();
  await console.shot('cost');
});

test('cold starts: each part of a start, and percentiles', async () => {
  const console = await view('cold-starts');
  await console.page
    .getByRole('img', { name: /boots .* gets ready/ })
    .first()
    .waitFor();
  await console.page.getByRole('columnheader', { name: 'p98' }).waitFor();
  await console.accessible();
  await console.shot('cold-starts');
});

test('requests: a tail that can be filtered and paused', async () => {
  const console = await view('requests');
  const rows = console.page.getByRole('region', { name: 'As they end' }).locator('tbody tr');
  await rows.nth(3).waitFor();
  await console.page.getByRole('searchbox', { name: 'Filter' }).fill('vision');
  await until(async () => (await rows.allTextContents()).every((row) => row.includes('vision')));
  await console.page.getByRole('searchbox', { name: 'Filter' }).fill('');
  await console.page.getByRole('button', { name: 'Pause' }).click();
  const before = await rows.count();
  await console.page.getByRole('button', { name: /Go on \([1-9]\d* held\)/ }).waitFor();
  expect(await rows.count()).toBe(before);
  await console.accessible();
  await console.shot('requests');
});

test('providers: how they answer, and what they sell', async () => {
  const console = await view('providers');
  const sim = console.page.getByRole('region', { name: 'sim' });
  await sim.getByText('answers').waitFor();
  await sim.getByRole('button', { name: 'Ask for its offers' }).click();
  await sim.getByText('/h', { exact: false }).first().waitFor();
  await console.accessible();
  await console.shot('providers');
});

test('light, and as narrow as a phone', async () => {
  const phone = { viewport: { width: 375, height: 740 }, colorScheme: 'light', hasTouch: true };
  const console = await view('', phone);
  const paths = [
    '',
    'deployments/chat',
    'decisions',
    'cost',
    'cold-starts',
    'requests',
    'providers',
    'deploy',
  ];
  for (const path of paths) {
    await console.go(path);
    await console.page.locator('h1').first().waitFor();
    await console.page.waitForTimeout(300);
    await console.fits();
    await console.accessible();
    await console.shot(`phone-${path.replaceAll('/', '-') || 'tiers'}`);
  }
  await console.page.setViewportSize({ width: 1280, height: 860 });
  await console.go('');
  await console.page.waitForTimeout(500);
  await console.shot('light-tiers');
});
