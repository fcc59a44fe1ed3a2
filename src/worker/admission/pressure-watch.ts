// Looks once a second at the signs of the worker's own side and at the failures of its phases, and lets phases use fewer
// slots or more. Every change is an event with its reason and its numbers.
import {
  adaptPressure,
  NO_PRESSURE,
  type Pressure,
  type SignBounds,
  type Signs,
} from '../../core/limits/back-pressure.ts';
import { ErrorSpike } from '../../core/limits/error-spike.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Events } from '../../platform/events.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import type { Settings } from '../../platform/settings.ts';

const LOOK_MS = 1000;
const ALL_IS_WELL = 'all is well';

export interface PressureWatchOptions {
  settings: Settings;
  events: Events;
  takeSigns: () => Signs;
  /** More may be started than before. */
  onRelief: () => void;
}

export class PressureWatch {
  readonly service: PeriodicService;
  readonly #options: PressureWatchOptions;
  readonly #spikes: { spike: ErrorSpike; pipeline: string; phase: string }[] = [];
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

  /** Part of claims and slots that is used, above 0 up to 1. */
  get factor(): number {
    return this.#pressure.factor;
  }

  /** The same for people. */
  get shown(): { share: number; reason: string } {
    const { factor, reason } = this.#pressure;
    return { share: factor, reason: reason ?? ALL_IS_WELL };
  }

  /** Failures of a phase that are noted there are looked at here. */
  watchFailures(pipeline: string, phase: string): ErrorSpike {
    const spike = new ErrorSpike();
    this.#spikes.push({ spike, pipeline, phase });
    return spike;
  }

  look(): void {
    const { settings, events, takeSigns, onRelief } = this.#options;
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
    for (const { spike, pipeline, phase } of this.#spikes) {
      const change = spike.look(nowMs);
      if (change) events.emit('phase.spike', { pipeline, phase, ...change });
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
