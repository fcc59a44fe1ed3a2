// Checks the invariants of the design on a live database, each within its time budget.
import { RowmillError } from '../core/rowmill-error.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { monotonicMs } from '../platform/clock.ts';
import { Database } from '../platform/database.ts';
import { databaseErrorKind } from '../platform/database-error.ts';
import { Events } from '../platform/events.ts';
import { findProblems, INVARIANTS, type Problem } from '../store/views/check-invariants.ts';
import { listOutputFiles } from '../store/views/list-output-files.ts';
import { auditCounters } from './audit-counters.ts';

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
    if (scope.jobId === null) invariants.push(await checkCounters(db, budgetMs));
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

/** Of all jobs: what several jobs counted cannot be told apart in a sum. */
async function checkCounters(db: Database, budgetMs: number): Promise<InvariantReport> {
  const says = 'counters are what was contributed to them';
  const report: InvariantReport = { invariant: 'counters', says, problems: [], unchecked: null };
  try {
    const audit = await auditCounters({ db, events: new Events() }, { budgetMs, maxListed: 100 });
    for (const { counter, ownerId, scope, entity, measures } of audit.drifted) {
      const key = [scope, entity].filter((part) => part !== null).join(' / ');
      const numbers = Object.entries(measures).map(
        ([measure, { stored, recounted }]) => `${measure} is ${stored}, the recount says ${recounted}`,
      );
      report.problems.push({
        jobId: null,
        problem: `counter ${counter} of ${ownerId}, ${key}: ${numbers.join('; ')}`,
      });
    }
    if (audit.unlisted > 0)
      report.problems.push({ jobId: null, problem: `and ${audit.unlisted} more rows of counters` });
    if (!audit.complete) {
      const { entries, entities, scopes } = audit.checked;
      report.unchecked = `only ${entries} entries, ${entities} entities and ${scopes} scopes were compared within ${budgetMs} ms`;
    }
  } catch (error) {
    if (databaseErrorKind(error) !== 'passing') throw error;
    report.unchecked = (error as Error).message;
  }
  return report;
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
