// Pipelines of this server and of recent jobs, with their work of the last 30 days.
import { useQuery } from '@tanstack/react-query';
import type { z } from 'zod';
import type { pipeline as pipelineSchema } from '../../../src/contract/operations.ts';
import type { Usage } from '../../../src/contract/overview.ts';
import { client } from '../../lib/client.ts';

export type Definition = z.infer<typeof pipelineSchema>;

export interface KnownPipeline {
  name: string;
  /** Definitions on this server, one per version; empty if only other processes have the pipeline. */
  definitions: Definition[];
  /** One per unit of costs; empty without jobs in the last 30 days. */
  usage: Usage[];
}

/** `name`: only this pipeline. */
export function usePipelines(all: boolean | undefined, name?: string) {
  const definitions = useQuery({
    queryKey: ['pipelines'],
    queryFn: ({ signal }) => client.listPipelines({ limit: 1000 }, { signal }),
  });
  const usage = useQuery({
    queryKey: ['usage', 'pipelines', name, all],
    queryFn: ({ signal }) =>
      client.getUsage(
        {
          by: ['pipeline'],
          ...(name !== undefined && { pipeline: name }),
          ...(all && { all: 'true' as const }),
        },
        { signal },
      ),
    refetchInterval: 30_000,
  });
  const known = new Map<string, KnownPipeline>();
  const add = (each: string): KnownPipeline => {
    const found = known.get(each) ?? { name: each, definitions: [], usage: [] };
    known.set(each, found);
    return found;
  };
  for (const definition of definitions.data?.items ?? [])
    if (name === undefined || definition.name === name) add(definition.name).definitions.push(definition);
  for (const each of usage.data?.items ?? []) add(each.pipeline!).usage.push(each);
  return {
    error: definitions.error ?? usage.error,
    isPending: definitions.isPending || usage.isPending,
    pipelines: [...known.values()].toSorted((a, b) => a.name.localeCompare(b.name)),
  };
}

/** Share of finished rows that succeeded; null without rows. */
export function successOf(usage: readonly Usage[]): number | null {
  const rows = usage.reduce((sum, each) => sum + each.rows, 0);
  return rows === 0 ? null : usage.reduce((sum, each) => sum + each.done, 0) / rows;
}

export function sumOf(usage: readonly Usage[], key: 'jobs' | 'rows' | 'failed'): number {
  return usage.reduce((sum, each) => sum + each[key], 0);
}
