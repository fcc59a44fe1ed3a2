// The limits of one worker: resources and budgets, which it shares with others, and pressure of its own side. Every phase
// gets its admission here.
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
  /** Statements on these are signs of pressure when they wait. */
  databases: Database[];
  /** Something may start that could not before. */
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

  /** Looks at the pressure. */
  get service(): PeriodicService {
    return this.#pressure.service;
  }

  /** Part of its work that the worker takes on, and why. */
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

  /** Gives permits and budgets back; nothing may start afterwards. */
  async giveBack(): Promise<void> {
    await Promise.all([this.#resources.stop(), this.#budgets.stop()]);
  }

  stop(): void {
    this.#signs.stop();
  }
}
