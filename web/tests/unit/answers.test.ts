import { expect, test, vi } from 'vitest';
import { newest } from '../../src/lib/newest';
import { soon } from '../../src/lib/soon';

test('the answer to an older question comes too late', () => {
  const question = newest();
  const [first, second] = [question(), question()];
  expect([first(), second()]).toEqual([false, true]);
});

test('a storm of wishes is granted once, and not put off for good', () => {
  vi.useFakeTimers();
  const act = vi.fn();
  const wish = soon(act, 250);
  for (let at = 0; at < 500; at += 100) {
    wish();
    vi.advanceTimersByTime(100);
  }
  expect(act).toHaveBeenCalledTimes(1);
  wish();
  wish.stop();
  vi.advanceTimersByTime(1000);
  expect(act).toHaveBeenCalledTimes(1);
  vi.useRealTimers();
});
