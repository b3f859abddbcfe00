import { expect, test } from 'vitest';
import { Parser } from '../../src/lib/sse';

test('messages are the same however the stream is cut', () => {
  const stream =
    ': hello\n\nid: 7\ndata: {"a":1}\n\nevent: gauges\r\ndata: one\r\ndata: two\r\n\r\n';
  const expected = [
    { event: 'message', data: '{"a":1}', id: '7' },
    { event: 'gauges', data: 'one\ntwo', id: null },
  ];
  for (let size = 1; size <= stream.length; size++) {
    const parser = new Parser();
    const messages = [];
    for (let at = 0; at < stream.length; at += size) {
      messages.push(...parser.push(stream.slice(at, at + size)));
    }
    expect(messages, `in pieces of ${size}`).toEqual(expected);
  }
});

test('what has no data is no message', () => {
  expect(new Parser().push('event: ping\n\n: a comment\n\n')).toEqual([]);
});
