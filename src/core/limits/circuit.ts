// Circuit breaker: after a run of failures no call is sent for a while. Then single calls probe the service, and the
// first good answer closes the circuit again.
import { backoffMs } from '../retries/backoff.ts';

export interface CircuitState {
  state: 'closed' | 'open' | 'probing';
  /** Consecutive failures since the last answer. */
  run: number;
  /** How often it has opened since the last answer. Each time doubles the wait. */
  opened: number;
  openUntilMs: number;
}

export const CLOSED: CircuitState = { state: 'closed', run: 0, opened: 0, openUntilMs: 0 };

const FIRST_OPEN_MS = 1000;
/** Short enough that a recovered service is in use again within half a minute, even after a probe that hung. */
export const MAX_OPEN_MS = 5000;

/** `answered` and `failed` count calls since the last move. */
export function moveCircuit(
  circuit: CircuitState,
  { answered, failed }: { answered: number; failed: number },
  nowMs: number,
  runToOpen: number,
): CircuitState {
  const probing = circuit.state === 'open' && nowMs >= circuit.openUntilMs;
  const state = probing ? 'probing' : circuit.state;
  if (answered > 0 && state !== 'open') return CLOSED;
  const run = answered > 0 ? 0 : circuit.run + failed;
  const opens = (state === 'probing' && failed > 0 && !probing) || (state === 'closed' && run >= runToOpen);
  if (!opens) return { ...circuit, state, run };
  const waitMs = backoffMs({ firstMs: FIRST_OPEN_MS, capMs: MAX_OPEN_MS }, circuit.opened);
  return { state: 'open', run, opened: circuit.opened + 1, openUntilMs: nowMs + waitMs };
}
