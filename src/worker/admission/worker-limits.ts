// The limits of one worker: resources and budgets, which it shares with others, and its own load. Creates the
// admission of every phase.
import type { Phase, Pipeline } from '../../pipeline/pipeline.ts';
import type { EngineContext } from '../../engine/engine-context.ts';

import type { Database } from '../../platform/database.ts';
import { OwnSigns } from '../../platform/own-signs.ts';
import type { PeriodicService } from '../../platform/periodic-service.ts';
import type { Admission } from './admission.ts';
import { BudgetLimiter } from './budget-limiter.ts';
import { PhaseAdmission } from './phase-admission.ts';
import { PhaseNeeds } from './phase-needs.ts';
import { PressureWatch } from './pressure-watch.ts';
import { declaredResources, ResourceLimiter } from './resource-limiter.ts';

export interface WorkerLimitsOptions {
  context: EngineContext;
  workerId: string;
  pipelines: readonly Pipeline[];
  /** Waits for connections of these databases are a load signal. */
  databases: Database[];
  /** Runs when blocked items may be able to start. */
  onRelief: () => void;
}

export class WorkerLimits {
  readonly #resources: ResourceLimiter;
  readonly #budgets: BudgetLimiter;
  readonly #signs: OwnSigns;
  readonly #pressure: PressureWatch;

  constructor({ context, workerId, pipelines, databases, onRelief }: WorkerLimitsOptions) {
    const { settings, events } = context;
    const resources = declaredResources(pipelines, settings.resources);
    this.#resources = new ResourceLimiter({ context, workerId, resources, onPermits: onRelief });
    this.#budgets = new BudgetLimiter({ context, workerId, onBudget: onRelief });
    this.#signs = new OwnSigns(events, databases);
    this.#pressure = new PressureWatch({ settings, events, takeSigns: () => this.#signs.take(), onRelief });
  }

  /** Checks the pressure periodically. */
  get service(): PeriodicService {
    return this.#pressure.service;
  }

  /** The share of slots in use, and the reason. */
  get pressure(): { share: number; reason: string } {
    return this.#pressure.shown;
  }

  admissionTo(pipeline: Pipeline, phase: Phase<unknown, unknown, unknown>, slots: number): Admission {
    return new PhaseAdmission({
      needs: new PhaseNeeds(this.#resources, this.#budgets, phase, pipeline.strategies),
      slots,
      itemsPerCall: phase.batch?.maxItems ?? 1,
      pressure: this.#pressure,
      spike: phase.resources?.length ? null : this.#pressure.watchFailures(pipeline.name, phase.name),
    });
  }

  /** Returns permits and budgets. No item may start afterwards. */
  async giveBack(): Promise<void> {
    await Promise.all([this.#resources.stop(), this.#budgets.stop()]);
  }

  stop(): void {
    this.#signs.stop();
  }
}
