import { expect, test } from 'vitest';
import { moved, stepped } from '../../src/lib/thresholds';

test('a line is moved as near to the other one as that allows', () => {
  const lines = { promote: 2, demote: 1 };
  expect(moved(lines, 'promote', 4.56789)).toEqual({ promote: 4.57, demote: 1 });
  expect(moved(lines, 'promote', 0.5).promote).toBeGreaterThan(1);
  expect(moved(lines, 'demote', 5).demote).toBeLessThan(2);
  expect(moved(lines, 'demote', -1).demote).toBeGreaterThan(0);
});

test('each key moves a line a little, and back to where it was', () => {
  for (const rps of [0.002, 0.2, 7, 130]) {
    const up = stepped(rps, 'ArrowUp') ?? 0;
    expect(up).toBeGreaterThan(rps);
    expect(stepped(up, 'ArrowDown')).toBeLessThan(up);
    expect(stepped(rps, 'PageUp') ?? 0).toBeGreaterThan(up);
  }
  expect(stepped(1, 'Tab')).toBeUndefined();
});
