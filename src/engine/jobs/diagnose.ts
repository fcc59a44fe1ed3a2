// Checks the invariants of the design on a live database, each within its time limit, and the server below it.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { DatabaseCheck } from '../../core/health/check-database.ts';
import type { BlobStore } from '../../platform/blob-store/blob-store.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { Database } from '../../platform/database.ts';
import { databaseErrorKind } from '../../platform/database-error.ts';
import { Events } from '../../platform/events.ts';
import { toRowmillError } from '../../platform/to-rowmill-error.ts';
import { listOutputFiles } from '../../store/views/exports/list-output-files.ts';
import { findProblems, INVARIANTS, type Problem } from '../../store/views/health/check-invariants.ts';
import { type CounterDrift, checkCounters } from '../counters/check-counters.ts';
import { checkJobCounters } from '../counters/check-job-counters.ts';
import { type DiagnoseDatabaseOptions, diagnoseDatabase } from './diagnose-database.ts';

const LISTED_DRIFT = 100;

export interface InvariantReport {
  invariant: string;
  says: string;
  problems: Problem[];
  /** Why it could not be checked; null if it was. */
  unchecked: string | null;
}

export interface Diagnosis {
  /** Every invariant was checked and holds, and the server has no problem. Warnings do not count. */
  ok: boolean;
  invariants: InvariantReport[];
  /** Checks of the server; empty unless they were asked for. */
  database: DatabaseCheck[];
}

export interface DiagnoseOptions {
  jobId?: string;
  maxJobs?: number;
  /** Time limit for each invariant. */
  budgetMs?: number;
  /** If given, output files are read and compared with their checksums. */
  blobs?: BlobStore;
  /** If given, the server is checked too. */
  server?: DiagnoseDatabaseOptions;
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
  let database: DatabaseCheck[] = [];
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
    invariants.push(
      scope.jobId === null
        ? await reportCounters(db, budgetMs)
        : await reportJobCounters(db, scope.jobId, budgetMs),
    );
    if (options.blobs) invariants.push(await checkFiles(db, options.blobs, scope, budgetMs));
    if (options.server) database = await diagnoseDatabase(db, options.server);
  } catch (cause) {
    const { code, message, hint } = toRowmillError(cause);
    throw new RowmillError(code, `cannot check the database: ${message}`, { hint, cause });
  } finally {
    await db.close();
  }
  return {
    ok:
      invariants.every((report) => report.problems.length === 0 && report.unchecked === null) &&
      database.every(({ findings }) => findings.every(({ level }) => level !== 'problem')),
    invariants,
    database,
  };
}

async function reportCounters(db: Database, budgetMs: number): Promise<InvariantReport> {
  const says = 'counters equal the sum of their contributions';
  return counterReport(says, async (report) => {
    const check = await checkCounters({ db, events: new Events() }, { budgetMs, maxListed: LISTED_DRIFT });
    for (const drift of check.drifted) report.problems.push({ jobId: null, problem: driftText(drift) });
    if (check.unlisted > 0)
      report.problems.push({ jobId: null, problem: `and ${check.unlisted} more counter rows` });
    for (const { jobId, contributions, items } of check.lost)
      report.problems.push({
        jobId,
        problem: `${contributions} contributions of ${items} rows belong to counter entries that no longer exist`,
      });
    if (!check.complete) {
      const { entries, entities, scopes } = check.checked;
      report.unchecked = `only ${entries} entries, ${entities} entities and ${scopes} scopes were compared within ${budgetMs} ms`;
    }
  });
}

/** Checks only entries: entities and scopes sum over several jobs, whose shares cannot be separated. */
async function reportJobCounters(db: Database, jobId: string, budgetMs: number): Promise<InvariantReport> {
  const says = 'counter entries that the job feeds equal the sum of their contributions';
  return counterReport(says, async (report) => {
    const check = await checkJobCounters(db, jobId, budgetMs);
    for (const drift of check.drifted.slice(0, LISTED_DRIFT))
      report.problems.push({ jobId, problem: driftText(drift) });
    if (check.drifted.length > LISTED_DRIFT)
      report.problems.push({
        jobId,
        problem: `and ${check.drifted.length - LISTED_DRIFT} more counter rows`,
      });
    if (check.gone > 0)
      report.problems.push({
        jobId,
        problem: `${check.gone} counter entries that it feeds no longer exist`,
      });
    if (!check.complete)
      report.unchecked = `only ${check.checked} entries were compared within ${budgetMs} ms`;
  });
}

async function counterReport(
  says: string,
  check: (report: InvariantReport) => Promise<void>,
): Promise<InvariantReport> {
  const report: InvariantReport = { invariant: 'counters', says, problems: [], unchecked: null };
  try {
    await check(report);
  } catch (error) {
    if (databaseErrorKind(error) !== 'passing') throw error;
    report.unchecked = (error as Error).message;
  }
  return report;
}

function driftText({ counter, ownerId, scope, entity, measures }: CounterDrift): string {
  const key = [scope, entity].filter((part) => part !== null).join(' / ');
  const numbers = Object.entries(measures).map(
    ([measure, { stored, recounted }]) => `${measure} is ${stored}, the recount says ${recounted}`,
  );
  return `counter ${counter} of ${ownerId}, ${key}: ${numbers.join('; ')}`;
}

async function checkFiles(
  db: Database,
  blobs: BlobStore,
  scope: { jobId: string | null; maxJobs: number },
  budgetMs: number,
): Promise<InvariantReport> {
  const says = 'output files match their summary';
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
