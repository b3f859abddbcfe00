// What happens at a server of the tests' own, step by step.
import { expect, test } from 'vitest';
import { timed } from '../support/browser';
import { Server, TOKEN, until } from '../support/server';
import { Stage } from '../support/stage';

/** What people may have to wait until they see what has happened, ms. */
const SOON = 2000;

function both(name: string) {
  const tiers = {
    serverless: { provider: 'toy', idle_timeout: '1s' },
    pod: { provider: 'toy', idle_timeout: '2s' },
  };
  const policy = { window: '5s', promote_rps: 50, demote_rps: 1 };
  return { name, image: 'demo/model', tiers, policy };
}

const stage = Stage.of(
  () => Server.serve(),
  async (server) => {
    // It may have been stopped when a test failed.
    await server.start();
    await server.empty();
  },
);

test('nobody is let in without the token, and the token is kept nowhere', async () => {
  const context = await stage.browser.newContext();
  const page = await context.newPage();
  await page.goto(`${stage.server.url}/console/`);
  await page.getByLabel('Admin token').fill('tc_wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('alert').getByText('not the admin token').waitFor();
  await page.getByLabel('Admin token').fill(TOKEN);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('Live', { exact: true }).waitFor();
  const [cookie, ...others] = await context.cookies(`${stage.server.url}/api/v1/`);
  expect(others).toEqual([]);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/api/v1' });
  expect(cookie?.value).not.toContain(TOKEN);
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  expect(kept).not.toContain(TOKEN);
  await page.reload();
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByLabel('Admin token').waitFor();
  expect(await context.cookies(`${stage.server.url}/api/v1/`)).toEqual([]);
  await context.close();
});

test('a cookie changes nothing from another origin', async () => {
  const open = await stage.open();
  const cookies = await open.page.context().cookies(`${stage.server.url}/api/v1/`);
  const cookie = cookies.map((it) => `${it.name}=${it.value}`).join('; ');
  const call = (origin: string | undefined) => {
    const headers = { cookie, ...(origin ? { origin } : {}) };
    return fetch(`${stage.server.url}/api/v1/deployments/none`, { method: 'DELETE', headers });
  };
  const request = `http://127.0.0.1:${stage.server.requests}`;
  for (const origin of [undefined, 'null', request, 'https://evil.example']) {
    expect((await call(origin)).status, String(origin)).toBe(403);
  }
  expect((await call(stage.server.url)).status).toBe(404);
});

test('the first thing an empty console says is what to type', async () => {
  const open = await stage.open();
  await open.page.getByText('No deployments yet').waitFor();
  await open.page.getByText('thermocline deploy chat.yaml').waitFor();
  await open.shot('empty');
});

test('b48: idle, running, stopped and failed are four words, each soon on the page', async () => {
  await stage.server.deploy(both('words'));
  await stage.server.deploy({ name: 'broken', image: 'demo/model', tiers: { local: {} } });
  const open = await stage.open();
  const { page } = open;
  await open.card('words', 'idle').getByText('idle').waitFor();

  expect(await stage.server.request('words')).toBe(200);
  const running = () => open.card('words', 'serverless').getByText('running').waitFor();
  expect(await timed(running)).toBeLessThan(SOON);

  await stage.server.call('POST', '/deployments/words/sleep');
  const stopped = () => open.card('words', 'stopped').getByText('stopped').waitFor();
  expect(await timed(stopped)).toBeLessThan(SOON);

  expect(await stage.server.request('broken')).toBe(503);
  const failed = open.card('broken', 'failed');
  expect(await timed(() => failed.getByText('failed', { exact: true }).waitFor())).toBeLessThan(
    SOON,
  );
  await failed.getByText(/Docker/).waitFor();
  await open.accessible();
  await open.shot('four-words');

  await open.go('deployments/broken');
  await page.getByText('The last start failed.').waitFor();
  await page
    .getByLabel('Why')
    .getByText(/Docker/)
    .first()
    .waitFor();
  await open.shot('failed');
});

test('a tier is forced, and the page follows without a reload', async () => {
  await stage.server.deploy(both('forced'));
  const open = await stage.open();
  await open.go('deployments/forced');
  const { page } = open;
  await page.getByRole('button', { name: 'Force a tier…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Tier').selectOption('pod');
  await dialog.getByLabel('How long').selectOption({ label: 'for 2 hours' });
  await dialog.getByText('thermocline force forced --tier pod --for 2h').waitFor();
  await open.accessible();
  await open.shot('force');
  await dialog.getByRole('button', { name: 'Force pod' }).click();
  await dialog.waitFor({ state: 'hidden' });
  expect(await stage.server.request('forced')).toBe(200);
  await page.getByText(', forced').waitFor({ timeout: SOON });
  await page.getByText('a person forced this tier').first().waitFor();
  await page.getByRole('cell', { name: 'ready' }).first().waitFor();
  await page.getByRole('button', { name: 'Stop forcing' }).click();
  await page.getByText(', forced').waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete forced' }).click();
  await until(async () => (await stage.server.call('GET', '/deployments/forced')).status === 404);
  await open.card('forced').waitFor({ state: 'detached' });
});

test('a move is on the map within two seconds of its event', async () => {
  await stage.server.deploy({
    ...both('mover'),
    policy: { window: '2s', promote_rps: 2, demote_rps: 1 },
  });
  const open = await stage.open();
  await open.card('mover', 'idle').waitFor();
  const requests = Array.from({ length: 6 }, () => stage.server.request('mover'));
  await until(
    async () => (await stage.server.call('GET', '/deployments/mover')).body.status.tier === 'pod',
  );
  expect(await timed(() => open.card('mover', 'pod').waitFor())).toBeLessThan(SOON);
  await open.page.getByLabel('Latest moves').getByText('mover').first().waitFor({ timeout: SOON });
  await Promise.all(requests);
});

test('after a restart of the server figures are old until it answers, then go on', async () => {
  await stage.server.deploy(both('again'));
  const open = await stage.open();
  const { page } = open;
  await open.card('again').waitFor();
  await stage.server.stop();
  await page
    .getByRole('alert')
    .getByText(/Not connected since/)
    .waitFor();
  await open.card('again').waitFor();
  await open.shot('stale');
  await stage.server.start();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await page.getByText('Live', { exact: true }).waitFor();
  await stage.server.deploy(both('after'));
  await open.card('after').waitFor({ timeout: SOON });
});

test('everything can be reached with the keyboard alone', async () => {
  await stage.server.deploy(both('keys'));
  const open = await stage.open();
  const { page } = open;
  await open.card('keys').waitFor();
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('A deployment or a view').waitFor();
  await page.keyboard.type('keys');
  await page.getByRole('option', { name: /keys/ }).waitFor();
  await open.accessible();
  await open.shot('palette');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'keys' }).waitFor();
  await page.getByRole('button', { name: 'Sleep…' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('Sleep');
  await page.keyboard.press('g');
  await page.keyboard.press('p');
  await page.getByRole('heading', { name: 'Providers' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.getByRole('heading', { name: 'Where everything is' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('nothing-of-that-name');
  await open.card('keys').waitFor({ state: 'detached' });
});

test('a deployment is written, checked and deployed in the console', async () => {
  const open = await stage.open();
  await open.go('deploy');
  const { page } = open;
  const text = page.getByLabel('Specification, YAML');
  await text.fill(
    'name: Written!\nimage: i:1\ntiers:\n  pod:\n    provider: toy\n    max_instances: none\n',
  );
  await page.getByRole('button', { name: 'What would change?' }).click();
  await page.getByText('Line 1, name:').waitFor();
  await page.getByText('Line 6, tiers.pod.max_instances:').waitFor();
  await open.accessible();
  await open.shot('deploy');
  await text.fill('name: written\nimage: i:1\ntiers:\n  pod:\n    provider: toy\n');
  await page.getByRole('button', { name: 'What would change?' }).click();
  await page.getByText('This would create written.').waitFor();
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await page.getByRole('heading', { name: 'written' }).waitFor();
});
