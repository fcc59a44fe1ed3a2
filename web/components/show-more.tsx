// The end of a list that has more pages.
import { Button } from './button.tsx';

export interface ShowMoreProps {
  /** What `useInfiniteQuery` answers. */
  of: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => Promise<unknown> };
}

export function ShowMore({ of: pages }: ShowMoreProps) {
  if (!pages.hasNextPage) return null;
  return (
    <Button
      className="self-center"
      disabled={pages.isFetchingNextPage}
      onClick={() => void pages.fetchNextPage()}
    >
      Show more
    </Button>
  );
}
