// Checks the invariants of the design on a live database, each within its time budget.
import { RowmillError } from '../core/rowmill-error.ts';
import { Database } from '../platform/database.ts';
import { databaseErrorKind } from '../platform/database-error.ts';
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
