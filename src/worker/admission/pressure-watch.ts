// Looks once a second at what the worker notices of its own side and of the failures of its phases, and lets pools use
// fewer slots or more. Every change is an event with its reason and its numbers.
import {
  adaptPressure,
  NO_PRESSURE,
  type Pressure,
  type SignBounds,
  type Signs,
} from '../../core/limits/back-pressure.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Events } from '../../platform/events.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import type { Settings } from '../../platform/settings.ts';
import type { PhasePool } from '../run/phase-pool.ts';

const LOOK_MS = 1000;
const ALL_IS_WELL = 'all is well';

export interface PressureWatchOptions {
  settings: Settings;
  events: Events;
  takeSigns: () => Signs;
  pools: () => readonly PhasePool[];
  /** More may be started than before. */
  onRelief: () => void;
}

export class PressureWatch {
  readonly service: PeriodicService;
  readonly #options: PressureWatchOptions;
  #pressure: Pressure = NO_PRESSURE;

  constructor(options: PressureWatchOptions) {
    this.#options = options;
    this.service = new PeriodicService({
      name: 'pressure watch',
      intervalMs: LOOK_MS,
      events: options.events,
      work: async () => this.look(),
    });
  }

  /** Of claims and slots, above 0 up to 1. */
  get factor(): number {
    return this.#pressure.factor;
  }

  /** The same for people. */
  get told(): { share: number; reason: string } {
    const { factor, reason } = this.#pressure;
    return { share: factor, reason: reason ?? ALL_IS_WELL };
  }

  look(): void {
    const { settings, events, takeSigns, pools, onRelief } = this.#options;
    const signs = takeSigns();
    const before = this.#pressure;
    this.#pressure = adaptPressure(before, signs, boundsOf(settings));
    const { factor, reason } = this.#pressure;
    if (factor !== before.factor)
      events.emit('pressure.changed', {
        from: before.factor,
        to: factor,
        reason: reason ?? ALL_IS_WELL,
        signs,
      });
    const nowMs = monotonicMs();
    for (const pool of pools()) {
      const change = pool.errorSpike?.look(nowMs);
      const { pipeline, phase } = pool.options.runtime;
      if (change) events.emit('phase.spike', { pipeline: pipeline.name, phase: phase.name, ...change });
    }
    onRelief();
  }
}

function boundsOf(settings: Settings): SignBounds {
  return {
    flushMs: settings.pressureFlushMs,
    poolWaitMs: settings.pressurePoolWaitMs,
    loopDelayMs: settings.pressureLoopDelayMs,
    memory: settings.pressureMemory,
  };
}
