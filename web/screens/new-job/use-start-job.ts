// Sends the file and makes the job, with progress. It can be sent again after a failure without a second job: the same
// file leads to the job it has, and where a new job is wanted anyway, the request has a key.
import { useRef, useState } from 'react';
import type { newJob } from '../../../src/contract/jobs.ts';
import type { z } from 'zod';
import { client, queries } from '../../lib/client.ts';
import { newRequestKey } from '../../lib/request-key.ts';
import { type ChosenFile, keyOf } from './use-preview.ts';

export type NewJob = z.input<typeof newJob>;

export type StartState =
  | { step: 'idle' }
  | { step: 'sending'; sent: number; total: number | null; startedMs: number }
  | { step: 'failed'; error: unknown };

export interface StartJob {
  state: StartState;
  start: (chosen: ChosenFile, job: NewJob) => Promise<void>;
  cancel: () => void;
}

export function useStartJob(onMade: (made: { jobId: string; created: boolean }) => void): StartJob {
  const [state, setState] = useState<StartState>({ step: 'idle' });
  const stop = useRef<AbortController | null>(null);
  const request = useRef({ of: '', key: '' });
  const start = async (chosen: ChosenFile, job: NewJob): Promise<void> => {
    const controller = new AbortController();
    stop.current = controller;
    const startedMs = Date.now();
    setState({ step: 'sending', sent: 0, total: null, startedMs });
    const of = JSON.stringify([job, keyOf(chosen)]);
    if (request.current.of !== of) request.current = { of, key: newRequestKey() };
    const options = {
      signal: controller.signal,
      ...(job.again && { idempotencyKey: request.current.key }),
    };
    try {
      const made =
        chosen.kind === 'source'
          ? await client.createJob({ ...job, source: { name: chosen.name, path: chosen.path } }, options)
          : await client.upload(chosen.file, job, {
              ...options,
              onProgress: ({ sent, total }) => setState({ step: 'sending', sent, total, startedMs }),
            });
      void queries.invalidateQueries({ queryKey: ['jobs'] });
      onMade(made);
    } catch (error) {
      setState(controller.signal.aborted ? { step: 'idle' } : { step: 'failed', error });
    }
  };
  return { state, start, cancel: () => stop.current?.abort() };
}
