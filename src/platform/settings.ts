// All settings: one table with default, bounds and the reason, read at boot from flags over environment
// over file over default. docs/configuration.md lists the same keys; a test keeps the two equal.
import { readFileSync } from 'node:fs';
import { RowmillError } from '../core/rowmill-error.ts';

interface NumberSetting {
  default: number;
  min: number;
  max: number;
  why: string;
}

/** Key in files and code; the environment variable is the same in upper snake case. */
export const NUMBER_SETTINGS = {
  claimMin: { default: 1, min: 1, max: 100_000, why: 'Fewest items a worker asks for at once.' },
  claimMax: { default: 5000, min: 1, max: 100_000, why: 'Most items a worker asks for at once.' },
  claimConcurrency: {
    default: 4,
    min: 1,
    max: 32,
    why: 'Claims that one phase of a worker may have under way at once.',
  },
  claimMaxBytes: {
    default: 16_777_216,
    min: 1024,
    max: 268_435_456,
    why: 'Most input bytes one claim may bring into memory; at least one item always comes.',
  },
  workerTargetSliceMs: {
    default: 5000,
    min: 10,
    max: 600_000,
    why: 'How long one claim should keep the slots of a phase busy.',
  },
  safetyFactor: {
    default: 0.7,
    min: 0.05,
    max: 1,
    why: 'Part of the slice that is planned for, so that claims do not overrun.',
  },
  lockFloorMs: {
    default: 30_000,
    min: 200,
    max: 3_600_000,
    why: 'Shortest lease: how soon a dead worker is noticed.',
  },
  lockCapMs: {
    default: 600_000,
    min: 200,
    max: 86_400_000,
    why: 'Longest lease, however slow the items are.',
  },
  watchdogMs: {
    default: 60_000,
    min: 100,
    max: 86_400_000,
    why: 'A main loop that has not turned for this long counts as stuck: its leases are no longer renewed.',
  },
  flushMaxItems: { default: 5000, min: 1, max: 100_000, why: 'Outcomes in one flush, at the most.' },
  flushMaxBytes: {
    default: 8_388_608,
    min: 1024,
    max: 536_870_912,
    why: 'Bytes of outcomes that start a flush.',
  },
  flushMaxDelayMs: {
    default: 200,
    min: 1,
    max: 60_000,
    why: 'Longest time an outcome waits for others before it is written.',
  },
  flushConcurrency: { default: 2, min: 1, max: 16, why: 'Flushes a worker process has under way at once.' },
  flushBacklogItems: {
    default: 20_000,
    min: 1,
    max: 1_000_000,
    why: 'Outcomes not yet written at which a worker stops claiming: back-pressure acts at the claim.',
  },
  itemTimeoutMs: {
    default: 60_000,
    min: 1,
    max: 86_400_000,
    why: 'Time for one handler call unless the phase says otherwise.',
  },
  resultMaxBytes: {
    default: 1_048_576,
    min: 1024,
    max: 200_000_000,
    why: 'Largest result of one item, as JSON.',
  },
  maxAttemptsError: {
    default: 5,
    min: 1,
    max: 100,
    why: 'Calls for an item that fails with passing errors.',
  },
  maxAttemptsNotFound: { default: 2, min: 1, max: 100, why: 'Calls for an item that is not found.' },
  pollMinMs: { default: 50, min: 5, max: 60_000, why: 'First wait of a worker that found nothing to do.' },
  pollMaxMs: {
    default: 2000,
    min: 10,
    max: 600_000,
    why: 'Longest wait of an idle worker between two looks.',
  },
  sweepMs: {
    default: 5000,
    min: 50,
    max: 600_000,
    why: 'How often expired leases and unfinished endings are looked for.',
  },
  heartbeatMs: { default: 15_000, min: 100, max: 600_000, why: 'How often a worker says that it is alive.' },
  foldAfterMs: {
    default: 120_000,
    min: 0,
    max: 86_400_000,
    why: 'Age at which ledger rows are folded into minutes.',
  },
  finalizeLeaseMs: {
    default: 30_000,
    min: 200,
    max: 3_600_000,
    why: 'Lease of the process that writes a summary.',
  },
  drainMs: {
    default: 10_000,
    min: 0,
    max: 3_600_000,
    why: 'Time that running items get at a graceful shutdown.',
  },
  databaseDeadlineMs: {
    default: 30_000,
    min: 100,
    max: 3_600_000,
    why: 'A statement or transaction without an answer for this long has its connection destroyed.',
  },
  ingestMaxRows: { default: 10_000, min: 1, max: 100_000, why: 'Rows in one ingest batch, at the most.' },
  ingestMaxBatchBytes: {
    default: 8_388_608,
    min: 1024,
    max: 536_870_912,
    why: 'Bytes in one ingest batch, at the most.',
  },
} as const satisfies Record<string, NumberSetting>;

export type SettingKey = keyof typeof NUMBER_SETTINGS;
export type Settings = Readonly<Record<SettingKey, number>>;

export interface SettingsSources {
  flags?: Partial<Record<string, unknown>>;
  environment?: Record<string, string | undefined>;
  file?: string;
}

export function environmentName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

export function loadSettings(sources: SettingsSources = {}): Settings {
  const environment = sources.environment ?? process.env;
  const path = sources.file ?? emptyToUndefined(environment.ROWMILL_CONFIG);
  const file = readFileValues(path);
  const flags = sources.flags ?? {};
  rejectUnknown(Object.keys(flags), 'option');
  rejectUnknown(Object.keys(file), `key in ${path}`);
  const settings = {} as Record<SettingKey, number>;
  for (const key of Object.keys(NUMBER_SETTINGS) as SettingKey[]) {
    const given = flags[key] ?? emptyToUndefined(environment[environmentName(key)]) ?? file[key];
    settings[key] = given === undefined ? NUMBER_SETTINGS[key].default : checked(key, given);
  }
  if (settings.claimMin > settings.claimMax)
    throw invalid('claimMin', `at most claimMax (${settings.claimMax})`, settings.claimMin);
  if (settings.lockFloorMs > settings.lockCapMs) {
    throw invalid('lockFloorMs', `at most lockCapMs (${settings.lockCapMs})`, settings.lockFloorMs);
  }
  return settings;
}

function checked(key: SettingKey, given: unknown): number {
  const { min, max } = NUMBER_SETTINGS[key];
  const value =
    typeof given === 'string' && /\d/.test(given) ? Number(given.trim().replaceAll('_', '')) : given;
  const whole = key === 'safetyFactor' || Number.isInteger(value);
  if (typeof value !== 'number' || !Number.isFinite(value) || !whole || value < min || value > max) {
    throw invalid(key, `a ${key === 'safetyFactor' ? '' : 'whole '}number from ${min} to ${max}`, given);
  }
  return value;
}

function invalid(key: string, expected: string, got: unknown): RowmillError {
  return new RowmillError(
    'SETTINGS_INVALID',
    `expected ${key} (${environmentName(key)}) to be ${expected}, got ${JSON.stringify(got)}`,
  );
}

function emptyToUndefined(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function readFileValues(path: string | undefined): Record<string, unknown> {
  if (path === undefined) return {};
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed))
      throw new Error('it is not an object');
    return parsed as Record<string, unknown>;
  } catch (cause) {
    throw new RowmillError(
      'SETTINGS_INVALID',
      `cannot read settings from ${path}: ${(cause as Error).message}`,
      { cause },
    );
  }
}

function rejectUnknown(keys: string[], what: string): void {
  const known = Object.keys(NUMBER_SETTINGS);
  for (const key of keys) {
    if (known.includes(key)) continue;
    const near = known
      .map((name) => ({ name, distance: editDistance(key.toLowerCase(), name.toLowerCase()) }))
      .sort((a, b) => a.distance - b.distance)[0]!;
    const suggestion = near.distance <= Math.max(2, key.length / 3) ? `, did you mean ${near.name}?` : '';
    throw new RowmillError('SETTINGS_INVALID', `unknown ${what}: ${key}${suggestion}`);
  }
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length]!;
}
