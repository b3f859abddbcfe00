// The shared fleet: who holds what, what waits, and what failed for good.
import { expect, test } from 'vitest';
import { Fleet, queue, worker } from '../support/fleet';
import { Server } from '../support/server';
import { Stage } from '../support/stage';

const TRAP = `<img src=x onerror="window.caught=1"><script>window.caught=1</script>`;

const stage = Stage.of(() => Server.serve());

test('without a fleet each part says what to type', async () => {
  const open = await stage.open();
  const { page } = open;
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await page.getByRole('heading', { name: 'Fleet', exact: true }).waitFor();
  await page.getByText('thermocline worker', { exact: true }).waitFor();
  await page.getByText('tiers: { serverless: { provider: fleet } }').waitFor();
  await page.getByText('thermocline dlq ls --state all', { exact: true }).waitFor();
  await open.accessible();
});

test('workers are shown with what they hold and how fast they load, queues with what waits', async () => {
  const fleet = new Fleet();
  fleet.workers = [worker('gpu-1', ['sdxl', 'bert'], 0.2), worker('gpu-2', [], 4.2)];
  const why = 'no worker of the fleet has the memory: it needs 40 GiB, the largest has 24 GiB';
  fleet.queues = [queue('bert', 0, ['gpu-1']), queue('llama', 7, [], why)];
  const open = await stage.open();
  const { page } = open;
  await fleet.answer(page);
  await open.go('fleet');
  const first = page.locator('[data-worker="gpu-1"]');
  await first.getByText('sdxl').waitFor();
  await first.getByText('8.0 GiB of 24 GiB').waitFor();
  await page.locator('[data-worker="gpu-2"]').getByText('it thrashes').waitFor();
  const longest = page.locator('[data-queue]').first();
  await longest.getByText('llama').waitFor();
  await longest.getByText('nobody').waitFor();
  await longest.getByText(why).waitFor();
  await open.accessible();
  await open.shot('fleet');
  await page.setViewportSize({ width: 390, height: 800 });
  await open.fits();
});

test('a dead letter is looked at, replayed and discarded, and its words stay text', async () => {
  const fleet = new Fleet();
  fleet.bury('01JOB', 'timed_out', TRAP);
  fleet.bury(
    '02JOB',
    'runtime_died',
    TRAP,
    'two workers died with it in hand, or their runtimes did',
  );
  const open = await stage.open();
  const { page } = open;
  await fleet.answer(page);
  await open.go('fleet');
  const letter = page.locator('[data-letter="01JOB"]');
  await letter.getByRole('button', { name: '01JOB' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('header authorization').waitFor();
  expect(await dialog.getByText('onerror').count()).toBeGreaterThan(1);
  await open.accessible();
  await open.shot('dead-letter');
  await page.keyboard.press('Escape');

  const poison = page.locator('[data-letter="02JOB"]');
  expect(await poison.getByRole('button', { name: 'Replay' }).isDisabled()).toBe(true);
  await letter.getByRole('button', { name: 'Replay' }).click();
  await dialog.getByText('thermocline dlq replay 01JOB').waitFor();
  await dialog.getByRole('button', { name: 'Replay' }).click();
  await letter.waitFor({ state: 'detached' });
  await poison.getByRole('button', { name: 'Discard' }).click();
  expect(fleet.asked).toEqual(['POST 01JOB replay']);
  await dialog.getByRole('button', { name: 'Discard' }).click();
  await poison.waitFor({ state: 'detached' });
  expect(fleet.asked).toEqual(['POST 01JOB replay', 'DELETE 02JOB']);
  expect(await page.evaluate(() => 'caught' in window)).toBe(false);
  expect(await page.locator('img[src="x"]').count()).toBe(0);
});

test('letters that failed alike are replayed together', async () => {
  const fleet = new Fleet();
  fleet.bury('01JOB', 'timed_out', 'no answer');
  fleet.bury(
    '02JOB',
    'timed_out',
    'no answer',
    'two workers died with it in hand, or their runtimes did',
  );
  const open = await stage.open();
  const { page } = open;
  await fleet.answer(page);
  await open.go('fleet');
  const group = page.locator('[data-group="f00d"]');
  await group.getByRole('button', { name: 'Replay 1' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('thermocline dlq replay --fingerprint f00d').waitFor();
  await dialog.getByRole('button', { name: 'Replay them' }).click();
  await dialog.waitFor({ state: 'hidden' });
  expect(fleet.asked).toEqual(['POST replay']);
});
