// rowmill doctor: checks the invariants of the database, and its server. Exits with 0 only if all invariants were
// checked and hold, and the server has no problem.
import type { DatabaseCheck } from '../../core/health/check-database.ts';
import { type Diagnosis, diagnose } from '../../engine/jobs/diagnose.ts';
import { openRowmill } from '../../open-rowmill.ts';
import { localFolderOf, openBlobStore } from '../../platform/blob-store/open-blob-store.ts';
import { checkMigrated } from '../../store/migrate.ts';
import { noteOrigin } from '../error-origin.ts';
import { findJob } from '../find-job.ts';
import {
  commandSettings,
  databaseOrigin,
  dataFolder,
  openServer,
  type ServerOptions,
  whenServerAnswers,
} from '../open-server.ts';

export interface DoctorOptions extends ServerOptions {
  json?: boolean;
  job?: string;
  budgetMs?: number;
  maxJobs?: number;
}

export function doctor(options: DoctorOptions): Promise<number> {
  return noteOrigin(databaseOrigin(options), () => diagnoseHere(options));
}

async function diagnoseHere(options: DoctorOptions): Promise<number> {
  const settings = await commandSettings(options);
  const server = await openServer(options, () => {}, { create: false });
  const blobs = openBlobStore(settings.blobStore);
  try {
    await whenServerAnswers(() => checkMigrated(server.url), settings);
    const jobId = options.job === undefined ? undefined : await resolveJob(server.url, options.job);
    const diagnosis = await diagnose(server.url, {
      blobs,
      ...(jobId === undefined
        ? {
            server: {
              settings,
              folders: [dataFolder(options), localFolderOf(settings.blobStore)].filter(
                (folder) => folder !== null,
              ),
            },
          }
        : { jobId }),
      ...(options.budgetMs === undefined ? {} : { budgetMs: options.budgetMs }),
      ...(options.maxJobs === undefined ? {} : { maxJobs: options.maxJobs }),
    });
    if (options.json) console.log(JSON.stringify(diagnosis));
    else {
      console.log(`Target: ${server.description}, files in ${blobs.description}`);
      printDiagnosis(diagnosis);
    }
    return diagnosis.ok ? 0 : 1;
  } finally {
    await blobs.close();
    await server.stop();
  }
}

async function resolveJob(url: string, prefix: string): Promise<string> {
  const rowmill = await openRowmill({ databaseUrl: url });
  try {
    return (await findJob(rowmill, prefix)).jobId;
  } finally {
    await rowmill.close();
  }
}

function printDiagnosis({ invariants, database }: Diagnosis): void {
  for (const { invariant, says, problems, unchecked } of invariants) {
    const verdict = unchecked !== null ? 'UNKNOWN' : problems.length > 0 ? 'BROKEN' : 'OK';
    console.log(`${verdict.padEnd(8)} ${invariant}: ${says}`);
    if (unchecked !== null) console.log(`         Not checked: ${unchecked} (raise --budget-ms)`);
    for (const { jobId: id, problem } of problems)
      console.log(`         ${id === null ? '' : `job ${id}: `}${problem}`);
  }
  for (const check of database) printCheck(check);
}

function printCheck({ check, says, findings, unchecked }: DatabaseCheck): void {
  const isBroken = findings.some(({ level }) => level === 'problem');
  const verdict =
    unchecked !== null ? 'UNKNOWN' : isBroken ? 'BROKEN' : findings.length > 0 ? 'WARNING' : 'OK';
  console.log(`${verdict.padEnd(8)} ${check}: ${says}`);
  if (unchecked !== null) console.log(`         Not checked: ${unchecked}`);
  for (const { finding, action } of findings) {
    console.log(`         ${finding}`);
    console.log(`         What to do: ${action}`);
  }
}
