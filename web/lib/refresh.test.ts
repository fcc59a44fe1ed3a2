import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, test, vi } from 'vitest';
import { refresh } from './refresh.ts';

/** A query whose answers are given by the test. */
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

test('a first answer that was asked for before a change is asked for again', async () => {
  const { queries, asked, whenAsked, whenKnown, look } = asking();
  look();
  await whenAsked(1);
  refresh(queries, ['job', '1']);
  asked[0]!('before');
  await whenAsked(2);
  asked[1]!('after');
  await whenKnown('after');
});

test('also when it was asked for ahead, and is looked at later', async () => {
  const { queries, asked, options, whenAsked, whenKnown, look } = asking();
  void queries.prefetchQuery(options);
  await whenAsked(1);
  refresh(queries, ['job', '1']);
  asked[0]!('before');
  await whenKnown('before');
  look();
  await whenAsked(2);
});

test('what is known and looked at is asked for again at once, and others are left alone', async () => {
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
