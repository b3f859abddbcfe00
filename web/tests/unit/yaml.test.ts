import { expect, test } from 'vitest';
import { lineOf, read, write } from '../../src/lib/yaml';

const TEXT = `name: chat
tiers:
  serverless: { provider: toy }
  pod:
    provider: toy
    gpu:
      - L4
      - moon
`;

test('a field of an error leads to its line', () => {
  expect(lineOf(TEXT, 'name')).toBe(1);
  expect(lineOf(TEXT, 'tiers.pod.provider')).toBe(5);
  expect(lineOf(TEXT, 'tiers.pod.gpu[1]')).toBe(8);
});

test('a field that is missing leads to what should hold it', () => {
  expect(lineOf(TEXT, 'tiers.pod.max_instances')).toBe(4);
  expect(lineOf(TEXT, 'image')).toBe(1);
});

test('a text that is no YAML says where', () => {
  const { document, mistakes } = read('name: chat\ntiers: {\n');
  expect(document).toBeUndefined();
  expect(mistakes[0]?.line).toBeGreaterThanOrEqual(2);
});

test('a specification is written in the order people read it, and reads back', () => {
  const spec = { tiers: { pod: { gpu: [], provider: 'toy' } }, image: 'i:1', name: 'chat' };
  const text = write(spec);
  expect(text.split('\n').slice(0, 2)).toEqual(['name: chat', 'image: i:1']);
  expect(read(text).document).toEqual(spec);
});
