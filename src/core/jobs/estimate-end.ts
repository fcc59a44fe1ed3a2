// Estimates when a job will be done from its rate over the last minutes, with a sentence that explains the estimate.

export interface PhaseRate {
  /** Waiting and running items at this phase, without those held until a trial is approved. */
  left: number;
  /** Items that recently finished or advanced from this phase. */
  lately: number;
  /** Age of the first of those. */
  latelyMs: number;
}

export interface EstimatedEnd {
  inMs: number;
  basis: string;
}

/** A shorter window is noise. */
const LEAST_WINDOW_MS = 1000;
const FAR_MS = 10 * 365 * 86_400_000;

/** Null if no items are left, or none moved recently. */
export function estimateEnd(phases: readonly PhaseRate[]): EstimatedEnd | null {
  const items = phases.reduce((sum, { left }) => sum + left, 0);
  // An item at the first of three phases has three steps left.
  const steps = phases.reduce((sum, { left }, phase) => sum + left * (phases.length - phase), 0);
  const done = phases.reduce((sum, { lately }) => sum + lately, 0);
  const windowMs = Math.max(LEAST_WINDOW_MS, ...phases.map(({ latelyMs }) => latelyMs));
  const inMs = (steps / done) * windowMs;
  if (items === 0 || done <= 0 || inMs > FAR_MS) return null;
  const perSecond = (done / windowMs) * 1000;
  const minutes = windowMs / 60_000;
  const period = minutes < 1.5 ? `${Math.round(windowMs / 1000)} s` : `${Math.round(minutes)} min`;
  const rows = `${count(items)} ${items === 1 ? 'row' : 'rows'} left`;
  const work = steps === items ? rows : `${rows} (${count(steps)} ${steps === 1 ? 'step' : 'steps'})`;
  const unit = steps === items ? '' : ' steps';
  return { inMs, basis: `${work} at ${rate(perSecond)}${unit}/s, based on the last ${period}` };
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

function rate(value: number): string {
  return value >= 10 ? count(Math.round(value)) : value.toPrecision(2);
}
