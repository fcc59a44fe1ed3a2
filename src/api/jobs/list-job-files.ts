// Files of a job: its input, the outputs of its generations, and prepared exports. A file id is a name in this list,
// never a path.
import type { z } from 'zod';
import type { jobFile } from '../../contract/files.ts';
import { downloadName } from '../../core/files/download-name.ts';
import type { Executor } from '../../platform/database.ts';
import { listExports } from '../../store/views/exports/list-exports.ts';
import { listJobOutputs } from '../../store/views/jobs/list-job-outputs.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';

export interface StoredFile extends z.output<typeof jobFile> {
  /** Where the bytes are stored; null if they are not written yet. */
  blobKey: string | null;
  contentType: string;
}

export async function listJobFiles(db: Executor, job: Job): Promise<StoredFile[]> {
  const [outputs, exports] = await Promise.all([listJobOutputs(db, job.jobId), listExports(db, job.jobId)]);
  return [
    ...inputOf(job),
    ...outputs.flatMap(({ generation, createdAt, files }) =>
      files.map(
        (file): StoredFile => ({
          ...READY,
          fileId: `g${generation}-${file.name}`,
          kind: 'output',
          name: file.name,
          downloadName: outputName(job, file.name, generation),
          bytes: file.bytes,
          sha256: file.sha256,
          generation,
          rows: file.rows,
          createdAt: createdAt.toISOString(),
          blobKey: file.key,
          contentType: file.contentType,
        }),
      ),
    ),
    ...exports.map(
      ({ exportId, jobId: _, createdAt, expiresAt, ...rest }): StoredFile => ({
        ...rest,
        fileId: exportId,
        kind: 'export',
        downloadName: rest.name,
        createdAt: createdAt.toISOString(),
        expiresAt: expiresAt?.toISOString() ?? null,
      }),
    ),
  ];
}

/** An output is stored as results.csv, failed.csv or summary.json, for instance. */
function outputName(job: Job, name: string, generation: number): string {
  const dot = name.lastIndexOf('.');
  return downloadName(job, { part: name.slice(0, dot), extension: name.slice(dot + 1), generation });
}

const READY = { state: 'READY', error: null, expiresAt: null } as const;

function inputOf({ source, createdAt }: Job): StoredFile[] {
  if (!source) return [];
  const { name, bytes, sha256, blobKey } = source;
  return [
    {
      ...READY,
      fileId: 'input',
      kind: 'input',
      name,
      downloadName: name,
      bytes,
      sha256,
      generation: null,
      rows: null,
      createdAt: createdAt.toISOString(),
      blobKey,
      // The browser saves it and never displays it, whatever its type.
      contentType: 'application/octet-stream',
    },
  ];
}

/** The file without the fields that only the server needs. */
export function shownFile({
  blobKey: _key,
  contentType: _type,
  ...file
}: StoredFile): z.output<typeof jobFile> {
  return file;
}
