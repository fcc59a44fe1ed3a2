// Periodic services of the server, which finish what other processes left unfinished.
import { createExportRunner } from '../../engine/services/export-runner.ts';
import { createJobExpirer } from '../../engine/services/job-expirer.ts';
import { createJobRemover } from '../../engine/services/job-remover.ts';
import { createStuckWatch } from '../../engine/services/stuck-watch.ts';
import { createSweeper } from '../../engine/services/sweeper.ts';
import { createUploadPruner } from '../../engine/uploads/remove-upload.ts';
import { createIngestResumer } from '../../ingest/ingest-resumer.ts';
import type { PeriodicService } from '../../platform/periodic-service.ts';
import type { ApiContext } from '../api-context.ts';

export class ApiServices {
  readonly #stopping = new AbortController();
  readonly #services: PeriodicService[];

  constructor(context: ApiContext) {
    const { engine } = context;
    const ingestResumer = createIngestResumer(engine, () => context.pipelines, this.#stopping.signal);
    this.#services = [
      createSweeper(engine, { onAbandonedIngests: () => ingestResumer.wake() }),
      ingestResumer,
      createStuckWatch(engine),
      createExportRunner(engine, this.#stopping.signal),
      createUploadPruner(engine),
      createJobExpirer(engine, this.#stopping.signal),
      createJobRemover(engine, this.#stopping.signal),
    ];
  }

  start(): void {
    for (const service of this.#services) service.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#services.map((service) => service.stop()));
  }
}
