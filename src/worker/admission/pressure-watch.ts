// Checks the worker's load signals and the failures of its phases once a second, and adjusts how many slots phases may
// use. Every change emits an event with its reason and numbers.
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
const ALL_IS_WELL = 'no pressure';

export interface PressureWatchOptions {
  settings: Settings;
  events: Events;
  takeSigns: () => Signs;
  /** Runs after each check, when more items may be able to start. */
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

  /** Share of the slots that may be used, above 0 and at most 1. */
  get factor(): number {
    return this.#pressure.factor;
  }

  /** The share and its reason, as shown to people. */
  get shown(): { share: number; reason: string } {
    const { factor, reason } = this.#pressure;
    return { share: factor, reason: reason ?? ALL_IS_WELL };
  }

  /** Returns a spike detector for a phase. Failures noted in it are checked here. */
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
