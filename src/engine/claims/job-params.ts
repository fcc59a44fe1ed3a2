// Job parameters, read once per job and kept for the most recent jobs.
import type { Executor } from '../../platform/database.ts';
import { readJobParams } from '../../store/views/jobs/read-job-params.ts';

const MAX_JOBS = 200;

export class JobParams {
  readonly #kept = new Map<string, Record<string, unknown>>();

  async of(db: Executor, jobId: string): Promise<Record<string, unknown>> {
    const params = this.#kept.get(jobId) ?? (await readJobParams(db, jobId));
    this.#kept.delete(jobId);
    this.#kept.set(jobId, params);
    if (this.#kept.size > MAX_JOBS) this.#kept.delete(this.#kept.keys().next().value!);
    return params;
  }
}
