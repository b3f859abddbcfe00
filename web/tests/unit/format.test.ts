import { expect, test } from 'vitest';
import { dollars, percentile, quoted, rate, span } from '../../src/lib/format';

test('figures keep as many places as say something', () => {
  expect([0, 0.004, 0.25, 2.44, 1234].map(rate)).toEqual(['0', '<0.01', '0.25', '2.4', '1,234']);
  expect([0, 1.2, 0.0006].map(dollars)).toEqual(['$0.00', '$1.20', '$0.0006']);
  expect([0, 0.0004, 0.18, 2.44, 30, 600, 7200].map(span)).toEqual([
    '0 s',
    '0.4 ms',
    '180 ms',
    '2.4 s',
    '30 s',
    '10 min',
    '2.0 h',
  ]);
});

test('what is not known is no zero', () => {
  expect([span(null), dollars(undefined), percentile([], 0.5)]).toEqual(['–', '–', null]);
});

test('percentiles are by the nearest rank', () => {
  const figures = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect([0.5, 0.9, 0.98, 1].map((share) => percentile(figures, share))).toEqual([50, 90, 98, 100]);
});

test('a name can be pasted into a shell as one word', () => {
  expect(quoted('chat-2')).toBe('chat-2');
  expect(quoted("a'; rm -rf ~")).toBe(`'a'\\''; rm -rf ~'`);
});
