import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, test, vi } from 'vitest';
import { refresh } from './refresh.ts';

/** A query that the test answers. */
function asking() {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: 60_000, retry: false } } });
  const asked: ((answer: string) => void)[] = [];
  const options = {
    queryKey: ['job', '1'],
    queryFn: () => new Promise<string>((resolve) => asked.push(resolve)),
  };
  const known = () => queries.getQueryData(options.queryKey);
  const whenAsked = (times: number) =>
    vi.waitUntil(() => asked.length === times, { interval: 1, timeout: 45_000 });
  const whenKnown = (answer: string) =>
    vi.waitUntil(() => known() === answer, { interval: 1, timeout: 45_000 });
  const look = () => new QueryObserver(queries, options).subscribe(() => {});
  return { queries, asked, options, whenAsked, whenKnown, look };
}

test('a first fetch that began before a change is repeated', async () => {
  const { queries, asked, whenAsked, whenKnown, look } = asking();
  look();
  await whenAsked(1);
  refresh(queries, ['job', '1']);
  asked[0]!('before');
  await whenAsked(2);
  asked[1]!('after');
  await whenKnown('after');
});

test('a prefetch that began before a change is repeated', async () => {
  const { queries, asked, options, whenAsked, whenKnown, look } = asking();
  void queries.prefetchQuery(options);
  await whenAsked(1);
  refresh(queries, ['job', '1']);
  asked[0]!('before');
  await whenKnown('before');
  look();
  await whenAsked(2);
});

test('loaded queries in use are refetched at once, others are left alone', async () => {
  const { queries, asked, whenAsked, whenKnown, look } = asking();
  look();
  await whenAsked(1);
  asked[0]!('before');
  await whenKnown('before');
  refresh(queries, ['job', '2']);
  expect(asked).toHaveLength(1);
  refresh(queries, ['job']);
  await whenAsked(2);
});
