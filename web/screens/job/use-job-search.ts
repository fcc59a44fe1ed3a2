// The state of the job screen, kept in the URL.
import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { jobRoute } from '../../routes/router.tsx';

export type JobSearch = ReturnType<typeof jobRoute.useSearch>;

/** Values to set; undefined and empty ones are removed from the URL. */
export type JobSearchChange = { [Key in keyof JobSearch]?: JobSearch[Key] | undefined };

export function useJobSearch(): [JobSearch, (change: JobSearchChange, replace?: boolean) => void] {
  const search = jobRoute.useSearch();
  const navigate = useNavigate({ from: '/jobs/$jobId' });
  const change = useCallback(
    (next: JobSearchChange, replace = true) =>
      void navigate({
        search: (before) =>
          Object.fromEntries(
            Object.entries({ ...before, ...next }).filter(([, value]) => value !== undefined && value !== ''),
          ),
        replace,
        resetScroll: false,
      }),
    [navigate],
  );
  return [search, change];
}
