import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CircuitState, CLOSED, MAX_OPEN_MS, moveCircuit } from './circuit.ts';

const RUN = 10;
const quiet = { answered: 0, failed: 0 };

describe('the circuit', () => {
  it('opens only after a full run of failures, and an answer resets the run', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 30 }), (failures) => {
        let circuit = CLOSED;
        let run = 0;
        for (const failed of failures) {
          circuit = moveCircuit(circuit, { answered: 0, failed }, 0, RUN);
          run += failed;
          if (run >= RUN) break;
          expect(circuit.state).toBe('closed');
        }
        expect(circuit.state).toBe(run >= RUN ? 'open' : 'closed');
        if (run < RUN) expect(moveCircuit(circuit, { answered: 1, failed: 1 }, 0, RUN).run).toBe(0);
      }),
    );
  });

  it('doubles its wait each time, up to the maximum', () => {
    let circuit: CircuitState = CLOSED;
    let nowMs = 0;
    const waits: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      circuit = moveCircuit(circuit, { answered: 0, failed: RUN }, nowMs, RUN);
      expect(circuit.state).toBe('open');
      waits.push(circuit.openUntilMs - nowMs);
      nowMs = circuit.openUntilMs;
      circuit = moveCircuit(circuit, quiet, nowMs, RUN);
      expect(circuit.state).toBe('probing');
    }
    expect(waits).toEqual([1000, 2000, 4000, MAX_OPEN_MS, MAX_OPEN_MS, MAX_OPEN_MS]);
  });

  it('stays open until its wait is over, and closes with the first answer to a probe', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), fc.nat(20), (laterMs, answered) => {
        const open = moveCircuit(CLOSED, { answered: 0, failed: RUN }, 0, RUN);
        const later = moveCircuit(open, { answered, failed: 0 }, laterMs, RUN);
        if (laterMs < open.openUntilMs) expect(later.state).toBe('open');
        else expect(later.state).toBe(answered > 0 ? 'closed' : 'probing');
      }),
    );
  });
});
