// Checks all rows of the chosen file when a preview could not: uploads the file, then reads the server's reports while
// it checks. The same upload becomes the job, so the file is sent once.
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import type { z } from 'zod';
import type { checkReport } from '../../../src/contract/new-job.ts';
import { client } from '../../lib/client.ts';
import { errorWords } from '../../lib/error-words.ts';
import { linesOf } from './lines-of.ts';
import { type ChosenFile, type FormatOptions, keyOf } from './use-preview.ts';
import type { Mapping } from './column-choices.ts';

type CheckReport = z.infer<typeof checkReport>;

/** The upload of the chosen file, shared with the start of the job. */
export interface UploadPoint {
  of: string;
  uploadId: string | null;
}

type Found = Pick<CheckReport, 'checked' | 'problemRows'>;

export type CheckState =
  | { step: 'idle' }
  | { step: 'sending'; sent: number; total: number | null }
  | ({ step: 'checking' } & Found)
  | ({ step: 'done' } & Found)
  | { step: 'failed'; message: string };

export interface FileCheck {
  state: CheckState;
  /** Null if the file cannot be checked here. */
  start: (() => void) | null;
  stop: () => void;
}

export interface CheckQuestion {
  chosen: ChosenFile | null;
  pipeline: string | undefined;
  format: FormatOptions;
  mapping: Mapping;
  /** Start without being asked. */
  isAutomatic: boolean;
}

const NOTHING: CheckState = { step: 'idle' };

export function useCheck(question: CheckQuestion, point: RefObject<UploadPoint>): FileCheck {
  const { chosen, pipeline, format, mapping, isAutomatic } = question;
  const [state, setState] = useState<CheckState>(NOTHING);
  const running = useRef<AbortController | null>(null);
  const asked = useRef(question);
  asked.current = question;
  const stop = useCallback((): void => running.current?.abort(), []);
  const start = useCallback(async (): Promise<void> => {
    const controller = new AbortController();
    running.current?.abort();
    running.current = controller;
    const show = (next: CheckState): void => {
      if (!controller.signal.aborted) setState(next);
    };
    try {
      await checkFile(asked.current, point.current, controller.signal, show);
    } catch (error) {
      show({ step: 'failed', message: errorWords(error).text });
    }
  }, [point]);
  const key = JSON.stringify([chosen && keyOf(chosen), pipeline, format, mapping]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a check is of one file, pipeline, format and mapping.
  useEffect(() => {
    setState(NOTHING);
    if (isAutomatic) void start();
    return stop;
  }, [key, isAutomatic]);
  const canStart = chosen?.kind === 'file' && pipeline !== undefined;
  return { state, start: canStart ? () => void start() : null, stop };
}

async function checkFile(
  { chosen, pipeline, format, mapping }: CheckQuestion,
  point: UploadPoint,
  signal: AbortSignal,
  show: (state: CheckState) => void,
): Promise<void> {
  if (chosen?.kind !== 'file' || pipeline === undefined) return;
  if (point.of !== keyOf(chosen)) Object.assign(point, { of: keyOf(chosen), uploadId: null });
  show({ step: 'sending', sent: 0, total: chosen.file.size });
  const uploadId = await client.uploadParts(chosen.file, {
    resumable: point,
    signal,
    onProgress: ({ sent, total }) => show({ step: 'sending', sent, total }),
  });
  const given = { uploadId, pipeline, format, mapping: { ...mapping } };
  const { stream } = await client.download('checkUpload', given, { signal });
  const problemRows: CheckReport['problemRows'] = [];
  for await (const line of linesOf(stream)) {
    const report = JSON.parse(line) as CheckReport & { error?: { message: string } };
    if (report.error) throw new Error(report.error.message);
    problemRows.push(...report.problemRows);
    const found = { checked: report.checked, problemRows: report.isEnd ? problemRows : [] };
    show({ step: report.isEnd ? 'done' : 'checking', ...found });
    if (report.isEnd) return;
  }
  throw new Error('the connection was lost');
}
