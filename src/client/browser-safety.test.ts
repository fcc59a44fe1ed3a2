// The client must run in a browser, so neither it nor its imports may use Node.
import { expect, test } from 'vitest';
import { readSources } from '../../test/support/read-sources.ts';

test('the client and its imports do not use Node', () => {
  const sources = new Map(readSources().map((source) => [source.path, source]));
  const reached = new Set<string>(['src/client/index.ts']);
  const outside = new Set<string>();
  for (const path of reached) {
    const { imports, code } = sources.get(path)!;
    expect([path, /\bBuffer\b|\bprocess\./.test(code)]).toEqual([path, false]);
    for (const { target, typeOnly } of imports) {
      if (typeOnly) continue;
      if (target.startsWith('src/')) reached.add(target);
      else outside.add(target);
    }
  }
  expect(reached.size).toBeGreaterThan(15);
  expect([...outside].sort()).toEqual(['eventsource-parser/stream', 'zod']);
});
