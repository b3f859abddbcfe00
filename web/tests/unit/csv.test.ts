import { expect, test } from 'vitest';
import { csv } from '../../src/lib/csv';

test('what a cell holds stays within it', () => {
  const text = csv([['a,b', 'say "no"', 1.5, null]]);
  expect(text).toBe('"a,b","say ""no""",1.5,\r\n');
});

test('a name is no formula for a spreadsheet', () => {
  expect(csv([['=HYPERLINK(1)', '-1', 'chat-1']])).toBe("'=HYPERLINK(1),'-1,chat-1\r\n");
});
