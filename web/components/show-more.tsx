// The button at the end of a list that has more pages.
import { useEffect, useRef } from 'react';
import { Button } from './button.tsx';

export interface ShowMoreProps {
  /** The result of `useInfiniteQuery`. */
  of: {
    hasNextPage: boolean;
    isFetchingNextPage: boolean;
    isFetchNextPageError?: boolean;
    fetchNextPage: () => Promise<unknown>;
  };
  /** Loads the next page on scrolling to the end; the button remains for the keyboard and after a failure. */
  byScrolling?: boolean;
}

export function ShowMore({ of: pages, byScrolling = false }: ShowMoreProps) {
  const end = useRef<HTMLButtonElement>(null);
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = pages;
  const mayLoad = byScrolling && hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (!mayLoad || !end.current) return;
    const watch = new IntersectionObserver(([seen]) => {
      if (seen?.isIntersecting) void fetchNextPage();
    });
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [mayLoad, fetchNextPage]);
  if (!hasNextPage) return null;
  return (
    <Button
      ref={end}
      className="self-center"
      disabled={isFetchingNextPage}
      onClick={() => void fetchNextPage()}
    >
      Show more
    </Button>
  );
}
