import { expect, test } from 'vitest';
import type { Gauge } from '../../src/lib/api';
import { curve } from '../../src/lib/curve';
import { laneOf, STATES } from '../../src/lib/words';

const gauge = (state: Gauge['state'], tier: Gauge['tier']) => ({ state, tier }) as Gauge;

test('b48: zero, running, stopped by a person and failed are four places and four words', () => {
  const states = ['idle', 'running', 'stopped', 'failed'] as const;
  expect(new Set(states.map((state) => laneOf(gauge(state, 'pod')))).size).toBe(4);
  expect(new Set(states.map((state) => STATES[state])).size).toBe(4);
  expect(STATES.stopped).toContain('person');
});

test('what starts or drains is where its tier is', () => {
  expect(laneOf(gauge('starting', 'pod'))).toBe('pod');
  expect(laneOf(gauge('draining', 'local'))).toBe('local');
});

test('a curve stays within its box and ends at its right', () => {
  const points = curve([0, 5, 2], 60, 20, 60);
  const numbers = [...points.matchAll(/(\d+\.\d) (\d+\.\d)/g)].map(([, x, y]) => [
    Number(x),
    Number(y),
  ]);
  expect(numbers.at(-1)?.[0]).toBe(60);
  for (const [, y] of numbers) expect(y).toBeLessThanOrEqual(20);
  expect(curve([1], 60, 20, 60)).toBe('');
});
