// Takes one file of a configured source on request. The file is claimed as in a scan, so it becomes one job even if
// pollers scan the source at the same time. A refused file is put back unchanged.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { keepLease } from '../../platform/keep-lease.ts';
import { newId } from '../../platform/random.ts';
import {
  claimSourceFile,
  finishSourceFile,
  forgetSourceFile,
  renewSourceFile,
} from '../../store/commands/files/source-file-lease.ts';
import type { FileToSubmit } from '../submit-file.ts';
import { checkWhileReading } from './check-while-reading.ts';
import { openSource } from './open-source.ts';
import type { SourceAdapter, SourceFile } from './source-adapter.ts';
import type { SourceConfig } from './source-config.ts';

const MAX_PATH_LENGTH = 8192;

/** Turns the file into a job and moves it to the finished files. */
export async function takeSourceFile<T extends { jobId: string }>(
  context: EngineContext,
  config: SourceConfig,
  path: string,
  signal: AbortSignal,
  submit: (file: FileToSubmit) => Promise<T>,
): Promise<T> {
  return withOffered(context, config, path, signal, async (adapter, file, { claim, lease }) => {
    try {
      const taken = await readHeld(adapter, config, file, lease, submit);
      await finishSourceFile(context.db, claim, { state: 'done', jobId: taken.jobId });
      // The claim row has the outcome, so the next scan moves a file that could not be moved now.
      await adapter.settle(file, { state: 'done' }).catch(() => {});
      return taken;
    } catch (error) {
      await adapter.giveBack(file).catch(() => {});
      await forgetSourceFile(context.db, claim);
      throw error;
    }
  });
}

/** Reads the file and puts it back. */
export async function lookAtSourceFile<T>(
  context: EngineContext,
  config: SourceConfig,
  path: string,
  signal: AbortSignal,
  look: (file: FileToSubmit) => Promise<T>,
): Promise<T> {
  return withOffered(context, config, path, signal, async (adapter, file, { claim, lease }) => {
    try {
      return await readHeld(adapter, config, file, lease, look);
    } finally {
      await adapter.giveBack(file).catch(() => {});
      await forgetSourceFile(context.db, claim);
    }
  });
}

interface Claimed {
  claim: { source: string; fileId: string; token: string };
  lease: AbortSignal;
}

async function withOffered<T>(
  context: EngineContext,
  config: SourceConfig,
  path: string,
  signal: AbortSignal,
  work: (adapter: SourceAdapter, file: SourceFile, claimed: Claimed) => Promise<T>,
): Promise<T> {
  const { db, settings } = context;
  const leaseMs = settings.ingestLeaseMs;
  const adapter = openSource(config, settings);
  try {
    const { offered } = await adapter.look(signal);
    const file = offered.find((each) => each.path === path);
    if (!file) throw notOffered(config, path);
    const claim = { source: config.name, fileId: file.fileId, token: newId() };
    const stored = { path: toStorableText(file.path, MAX_PATH_LENGTH), bytes: file.bytes };
    if (!(await claimSourceFile(db, { ...claim, ...stored, leaseMs }))) throw notOffered(config, path);
    const lease = keepLease({
      leaseMs,
      renew: () => renewSourceFile(db, claim, leaseMs),
      lost: () => new Error('another poller took over the file'),
      signal,
    });
    try {
      return await work(adapter, file, { claim, lease: lease.signal });
    } finally {
      await lease.stop();
    }
  } finally {
    await adapter.disconnect();
  }
}

async function readHeld<T>(
  adapter: SourceAdapter,
  config: SourceConfig,
  file: SourceFile,
  signal: AbortSignal,
  read: (file: FileToSubmit) => Promise<T>,
): Promise<T> {
  if (!(await adapter.hold(file))) throw notOffered(config, file.path);
  const opened = await adapter.open(file, signal);
  try {
    return await read({
      name: toStorableText(file.name, MAX_PATH_LENGTH),
      kind: config.kind,
      source: config.name,
      path: toStorableText(file.path, MAX_PATH_LENGTH),
      bytes: checkWhileReading(opened, file.bytes, () => {}),
      expectedBytes: file.bytes,
    });
  } finally {
    await opened.close().catch(() => {});
  }
}

function notOffered({ name }: SourceConfig, path: string): RowmillError {
  return new RowmillError('SOURCE_NOT_FOUND', `the source ${name} does not offer ${path}`, {
    hint: 'It may still be uploading, or already be a job. Try again in a few seconds, or search the job list.',
  });
}
