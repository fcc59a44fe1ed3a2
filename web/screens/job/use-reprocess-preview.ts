// The number of rows that a rerun would include, as counted by the server.
import { useQuery } from '@tanstack/react-query';
import type { Answered, Given } from '../../../src/client/route-call.ts';
import type { Routes } from '../../../src/contract/routes.ts';
import { client } from '../../lib/client.ts';
import type { Job } from '../../lib/job.ts';

export type ReprocessRequest = Omit<Given<Routes['previewReprocess']>, 'jobId' | 'ifGeneration'>;
export type ReprocessPreview = Answered<Routes['previewReprocess']>;

/** Undefined: not counted yet, failed, or the request is null. */
export function useReprocessPreview(
  { jobId, generation }: Pick<Job, 'jobId' | 'generation'>,
  request: ReprocessRequest | null,
): ReprocessPreview | undefined {
  const preview = useQuery({
    queryKey: ['job', jobId, 'reprocess-preview', generation, request],
    queryFn: ({ signal }) =>
      client.previewReprocess({ jobId, ifGeneration: generation, ...request! }, { signal }),
    enabled: request !== null,
    retry: false,
  });
  return request === null ? undefined : preview.data;
}
