// What is on its way, and what an operator ends.
import { expect, test } from 'vitest';
import { Server, until } from '../support/server';
import { Stage } from '../support/stage';

const SLOW = `[providers.slow]\nkind = "sim"\ncold_start = "100ms"\nservice_time = "10m"`;

const stage = Stage.of(async () => {
  const server = await Server.serve(SLOW);
  await server.deploy({ name: 'slow', image: 'i:1', tiers: { serverless: { provider: 'slow' } } });
  await server.deploy({ name: 'quick', image: 'i:1', tiers: { serverless: { provider: 'toy' } } });
  return server;
});

test('a request that takes too long is found, looked at and cancelled', async () => {
  const open = await stage.open();
  const { page } = open;
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.getByText('Nothing is on its way now.').waitFor();
  const url = `http://127.0.0.1:${stage.server.requests}/d/slow/v1/generate?key=secret`;
  const answer = fetch(url, {
    method: 'POST',
    body: 'a story',
    headers: { 'x-request-id': 'r-77' },
  });
  const row = page.locator('[data-request]');
  await row.getByText('/d/slow/v1/generate').waitFor();
  await row.getByText('a backend has it').waitFor();
  await row.getByText('r-77').waitFor();
  expect(await page.getByText('secret').count()).toBe(0);
  await open.accessible();
  await open.shot('in-flight');

  await row.getByRole('button', { name: 'Cancel request r-77' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/curl -X POST .*\/requests\/[0-9a-f]{8}-\d+\/cancel/).waitFor();
  await open.accessible();
  await dialog.getByRole('button', { name: 'Cancel the request' }).click();
  const { status, headers } = await answer;
  expect([status, headers.get('x-should-retry')]).toEqual([503, 'false']);
  expect((await (await answer).json()).error.code).toBe('cancelled');
  await row.waitFor({ state: 'detached' });
  const ended = page.getByRole('region', { name: 'As they end' }).locator('tbody tr').first();
  await ended.getByText('/d/slow/v1/generate').waitFor();
  await ended.getByText('503', { exact: true }).waitFor();
  await ended.getByText('cancelled', { exact: true }).waitFor();
});

test('filter and pause hold for what is on its way and for what ends', async () => {
  const slow = new AbortController();
  const url = `http://127.0.0.1:${stage.server.requests}/d/slow/x`;
  const answer = fetch(url, { signal: slow.signal }).catch(() => undefined);
  const open = await stage.open();
  await open.go('requests');
  const { page } = open;
  const row = page.locator('[data-request]');
  await row.waitFor();
  const ended = page.getByRole('region', { name: 'As they end' }).locator('tbody tr');
  await until(async () => {
    await stage.server.request('quick');
    return (await ended.count()) > 0;
  });
  await page.getByRole('searchbox', { name: 'Filter' }).fill('/d/quick');
  await page.getByText('None is as chosen.').waitFor();
  expect(await ended.count()).toBeGreaterThan(0);
  await page.getByRole('searchbox', { name: 'Filter' }).fill('');
  await row.waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  slow.abort();
  await answer;
  // A quick one may be told as late as this.
  await page.getByRole('button', { name: /Go on \(\d+ held\)/ }).waitFor();
  expect(await row.count()).toBe(1);
  await page.getByRole('button', { name: /Go on/ }).click();
  await row.waitFor({ state: 'detached' });
  await ended.first().getByText('client left').waitFor();
});
