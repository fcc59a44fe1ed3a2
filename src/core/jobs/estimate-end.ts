// When a job will be done, as far as the last minutes tell, with the sentence that says what it follows from.

export interface PhaseRate {
  /** Items at this phase that are waiting or under way, without those that are held. */
  left: number;
  /** Items that ended here or went on from here lately. */
  lately: number;
  /** How long ago the first of those was. */
  latelyMs: number;
}

export interface EstimatedEnd {
  inMs: number;
  basis: string;
}

/** Less is noise. */
const LEAST_WINDOW_MS = 1000;
const FAR_MS = 10 * 365 * 86_400_000;

/** Null when nothing is left, or nothing moved lately. */
export function estimateEnd(phases: readonly PhaseRate[]): EstimatedEnd | null {
  const items = phases.reduce((sum, { left }) => sum + left, 0);
  // An item at the first of three phases has three to go.
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
  return { inMs, basis: `${work} at ${rate(perSecond)}${unit}/s, as over the last ${period}` };
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

function rate(value: number): string {
  return value >= 10 ? count(Math.round(value)) : value.toPrecision(2);
}
