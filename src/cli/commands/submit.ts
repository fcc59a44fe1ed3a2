// rowmill submit <pipeline> <file>: creates a job from a file and leaves its rows to workers.
import type { JobOutput } from '../../core/files/output-format.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { isDumbTerminal } from '../../platform/environment.ts';
import { EXIT } from '../exit-codes.ts';
import { type FileOptions, readFormatOptions } from '../file-options.ts';
import { formatCount } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { JobPort, SubmitRequest } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { listenForStop } from '../stop-signals.ts';
import { watchToEnd } from './watch.ts';

export interface SubmitOptions extends TargetOptions, FileOptions {
  /** The form of earlier versions: submit <file> --pipeline <pipeline>. */
  pipeline?: string;
  follow?: boolean;
  json?: boolean;
  name?: string;
  params?: object;
  outputs?: string[];
  hold?: boolean;
  trial?: number;
  budget?: number;
  budgetPerItem?: number;
  again?: boolean;
  update?: string;
  owner?: string;
  priority?: number;
  key?: string[];
  idempotencyKey?: string;
}

const say = (line: string): void => console.error(line);

export async function submit(
  first: string,
  second: string | undefined,
  options: SubmitOptions,
): Promise<number> {
  const named = pipelineAndFile(first, second, options);
  return withPort(
    options,
    async (port) => {
      const { jobId, created } = await send(port, named, options);
      if (!created) say('This file was submitted before: this is its job (--again creates a new one)');
      if (options.follow) {
        say(`Job ${jobId} on ${port.description}`);
        return watchToEnd(port, jobId, options);
      }
      console.log(options.json ? JSON.stringify({ jobId, created }) : jobId);
      return EXIT.ok;
    },
    { say, create: true },
  );
}

interface PipelineAndFile {
  pipeline: string;
  path: string;
}

function pipelineAndFile(
  first: string,
  second: string | undefined,
  { pipeline }: SubmitOptions,
): PipelineAndFile {
  if (pipeline !== undefined && second === undefined) return { pipeline, path: first };
  if (pipeline === undefined && second !== undefined) return { pipeline: first, path: second };
  throw new RowmillError(
    'USAGE_INVALID',
    second === undefined ? 'expected a pipeline and a file' : 'expected the pipeline once, got it twice',
    { hint: 'rowmill submit <pipeline> <file>' },
  );
}

async function send(
  port: JobPort,
  named: PipelineAndFile,
  options: SubmitOptions,
): Promise<{ jobId: string; created: boolean }> {
  const stop = listenForStop(
    () => {},
    () => {},
  );
  const progress = uploadProgress();
  try {
    return await port.submit(
      {
        ...(await requestOf(port, named, options)),
        ...(options.params !== undefined && { params: options.params }),
        onProgress: progress.show,
      },
      stop.signal,
    );
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    throw new RowmillError('FILE_INCOMPLETE', `sending ${named.path} was interrupted`, {
      hint: 'Submit it again. The part that was sent is not kept.',
    });
  } finally {
    progress.clear();
    stop.dispose();
  }
}

async function requestOf(
  port: JobPort,
  { pipeline, path }: PipelineAndFile,
  options: SubmitOptions,
): Promise<SubmitRequest> {
  const { name, outputs, hold, trial, budget, budgetPerItem, again, update, owner, priority, key } = options;
  const { idempotencyKey } = options;
  return {
    path,
    pipeline,
    format: readFormatOptions(options),
    mapping: options.map ?? {},
    ...(name !== undefined && { name }),
    ...(outputs && { outputs: outputs as JobOutput[] }),
    ...(hold && { hold }),
    ...(trial !== undefined && { trial }),
    ...((budget !== undefined || budgetPerItem !== undefined) && {
      budget: { max: budget ?? null, perItem: budgetPerItem ?? null },
    }),
    ...(again && { again }),
    ...(update !== undefined && { updatesJobId: (await port.findJob(update)).jobId }),
    ...(owner !== undefined && { ownerId: owner }),
    ...(priority !== undefined && { priority }),
    ...(key && { key }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

/** One line that is overwritten, on terminals only. */
function uploadProgress(): { show: (sent: number, total: number | null) => void; clear: () => void } {
  const stream = process.stderr;
  if (!stream.isTTY || isDumbTerminal()) return { show: () => {}, clear: () => {} };
  let shown = '';
  const show = (sent: number, total: number | null): void => {
    const line = total
      ? `Sending: ${Math.floor((sent / total) * 100)}% of ${formatCount(total)} bytes`
      : `Sending: ${formatCount(sent)} bytes`;
    if (line !== shown) stream.write(`\r${line}\x1b[K`);
    shown = line;
  };
  return { show, clear: () => shown !== '' && stream.write('\r\x1b[K') };
}
