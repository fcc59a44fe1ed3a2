// Checks the invariants of the design on a live database, each within its time budget.
import { RowmillError } from '../core/rowmill-error.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { monotonicMs } from '../platform/clock.ts';
import { Database } from '../platform/database.ts';
import { databaseErrorKind } from '../platform/database-error.ts';
import { listOutputFiles } from '../store/views/list-output-files.ts';
import { findProblems, INVARIANTS, type Problem } from '../store/views/check-invariants.ts';

export interface InvariantReport {
  invariant: string;
  says: string;
  problems: Problem[];
  /** Why it could not be checked, or null. */
  unchecked: string | null;
}

export interface Diagnosis {
  ok: boolean;
  invariants: InvariantReport[];
}

export interface DiagnoseOptions {
  jobId?: string;
  maxJobs?: number;
  /** Time for each invariant. */
  budgetMs?: number;
  /** With it, output files are read back and compared with their checksums. */
  blobs?: BlobStore;
}

export async function diagnose(databaseUrl: string, options: DiagnoseOptions = {}): Promise<Diagnosis> {
  const budgetMs = options.budgetMs ?? 30_000;
  const scope = { jobId: options.jobId ?? null, maxJobs: options.maxJobs ?? 1000 };
  const db = new Database({
    url: databaseUrl,
    maxConnections: 1,
    applicationName: 'rowmill doctor',
    deadlineMs: budgetMs,
  });
  const invariants: InvariantReport[] = [];
  try {
    for (const { name, says, statement } of INVARIANTS) {
      const report: InvariantReport = { invariant: name, says, problems: [], unchecked: null };
      invariants.push(report);
      try {
        report.problems = await findProblems(db, statement, scope);
      } catch (error) {
        if (databaseErrorKind(error) !== 'passing') throw error;
        report.unchecked = (error as Error).message;
      }
    }
    if (options.blobs) invariants.push(await checkFiles(db, options.blobs, scope, budgetMs));
  } catch (cause) {
    throw new RowmillError('DATABASE_UNREACHABLE', `cannot check the database: ${(cause as Error).message}`, {
      cause,
    });
  } finally {
    await db.close();
  }
  return {
    ok: invariants.every((report) => report.problems.length === 0 && report.unchecked === null),
    invariants,
  };
}

async function checkFiles(
  db: Database,
  blobs: BlobStore,
  scope: { jobId: string | null; maxJobs: number },
  budgetMs: number,
): Promise<InvariantReport> {
  const says = 'output files are what their summary says';
  const report: InvariantReport = { invariant: 'files', says, problems: [], unchecked: null };
  const startedMs = monotonicMs();
  const files = await listOutputFiles(db, scope);
  for (const [index, { jobId, file }] of files.entries()) {
    if (monotonicMs() - startedMs > budgetMs) {
      report.unchecked = `only ${index} of ${files.length} files were read within ${budgetMs} ms`;
      break;
    }
    try {
      await blobs.verify(file);
    } catch (error) {
      if (!(error instanceof RowmillError)) throw error;
      if (error.code === 'BLOB_STORE_UNAVAILABLE') {
        report.unchecked = error.message;
        break;
      }
      report.problems.push({ jobId, problem: error.message });
    }
  }
  return report;
}
