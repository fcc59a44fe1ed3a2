import { expect, test } from 'vitest';
import { linkOf } from './link-of.ts';

test.each([
  ['https://example.com/a?b=c', 'https://example.com/a?b=c'],
  ['HTTP://example.com', 'http://example.com/'],
  ['javascript:alert(1)', null],
  ['data:text/html,<script>alert(1)</script>', null],
  ['https://', null],
  ['see https://example.com', null],
  ['https://example.com and more', null],
  ['', null],
])('%j leads to %j', (text, address) => {
  expect(linkOf(text)).toBe(address);
});
