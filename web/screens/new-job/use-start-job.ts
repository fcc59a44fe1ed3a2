// Uploads the file and creates the job, with progress. Larger files are uploaded in parts that can be paused and
// resumed, also after a failure. Retrying creates no second job: the same file leads to its existing job, and a forced
// new job has an idempotency key.
import { type RefObject, useRef, useState } from 'react';
import type { z } from 'zod';
import type { UploadProgress } from '../../../src/client/send-file.ts';
import type { newJob } from '../../../src/contract/new-job.ts';
import { client, queries } from '../../lib/client.ts';
import { newRequestKey } from '../../lib/request-key.ts';
import type { UploadPoint } from './use-check.ts';
import { type ChosenFile, keyOf } from './use-preview.ts';

export type NewJob = z.input<typeof newJob>;

export interface Sent {
  sent: number;
  /** Null: unknown. */
  total: number | null;
  /** The connection was lost; the client retries by itself. */
  isCut?: boolean | undefined;
}

export type StartState =
  | { step: 'idle' }
  | ({ step: 'sending'; startedMs: number; startedAt: number; canPause: boolean } & Sent)
  | ({ step: 'paused' } & Sent)
  | ({ step: 'failed'; error: unknown } & Sent);

export interface StartJob {
  state: StartState;
  start: (chosen: ChosenFile, job: NewJob) => Promise<void>;
  pause: () => void;
  /** Resumes with the same file and options. */
  resume: () => void;
  cancel: () => void;
}

/** Smaller files are uploaded in one request. */
const IN_PARTS_BYTES = 1_048_576;
const NOTHING_SENT: Sent = { sent: 0, total: null };

export function useStartJob(
  point: RefObject<UploadPoint>,
  onCreated: (created: { jobId: string; created: boolean }) => void,
): StartJob {
  const [state, setState] = useState<StartState>({ step: 'idle' });
  const stop = useRef<AbortController | null>(null);
  const request = useRef({ of: '', key: '' });
  const last = useRef<[ChosenFile, NewJob] | null>(null);
  const start = async (chosen: ChosenFile, job: NewJob): Promise<void> => {
    const controller = new AbortController();
    stop.current = controller;
    last.current = [chosen, job];
    if (point.current.of !== keyOf(chosen)) point.current = { of: keyOf(chosen), uploadId: null };
    // A file that was uploaded for its check is not sent again.
    const isInParts =
      chosen.kind === 'file' && (chosen.file.size > IN_PARTS_BYTES || point.current.uploadId !== null);
    const startedMs = Date.now();
    let kept: Sent = NOTHING_SENT;
    let startedAt: number | null = null;
    const show = ({ sent, total, kept: safe = sent, isCut }: UploadProgress): void => {
      // Only bytes confirmed by the server count when the upload stops.
      kept = { sent: safe, total };
      startedAt ??= sent;
      setState({ step: 'sending', sent, total, isCut, startedMs, startedAt, canPause: isInParts });
    };
    setState({ step: 'sending', ...NOTHING_SENT, startedMs, startedAt: 0, canPause: false });
    const of = JSON.stringify([job, keyOf(chosen)]);
    if (request.current.of !== of) request.current = { of, key: newRequestKey() };
    const options = {
      signal: controller.signal,
      ...(job.again && { idempotencyKey: request.current.key }),
    };
    try {
      const created =
        chosen.kind === 'source'
          ? await client.createJob({ ...job, source: { name: chosen.name, path: chosen.path } }, options)
          : await client.upload(chosen.file, job, {
              ...options,
              ...(isInParts && { resumable: point.current }),
              onProgress: show,
            });
      void queries.invalidateQueries({ queryKey: ['jobs'] });
      onCreated(created);
    } catch (error) {
      if (!controller.signal.aborted) setState({ step: 'failed', error, ...kept });
      else setState(controller.signal.reason === PAUSE ? { step: 'paused', ...kept } : { step: 'idle' });
    }
  };
  const cancel = (): void => {
    stop.current?.abort();
    const { uploadId } = point.current;
    point.current = { of: '', uploadId: null };
    setState({ step: 'idle' });
    // If this fails, the server removes the upload later.
    if (uploadId !== null) void client.deleteUpload({ uploadId }).catch(() => {});
  };
  return {
    state,
    start,
    pause: () => stop.current?.abort(PAUSE),
    resume: () => void (last.current && start(...last.current)),
    cancel,
  };
}

const PAUSE = new Error('paused');
