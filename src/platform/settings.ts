// Reads and checks the settings (setting-table.ts) at startup: flags override the environment, then the JSON file, then
// rowmill.config.ts, then defaults.
import { readFileSync } from 'node:fs';
import { didYouMean } from '../core/errors/did-you-mean.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { checkLimits, type DeclaredLimits } from '../core/limits/resource-limits.ts';
import { NUMBER_SETTINGS, TEXT_SETTINGS } from './setting-table.ts';

type NumberKey = keyof typeof NUMBER_SETTINGS;
type TextKey = keyof typeof TEXT_SETTINGS;
export type SettingKey = NumberKey | TextKey;
/** Limits of resources by name. They override the limits that pipelines declare. Not available in the environment. */
interface ResourceSettings {
  resources: Readonly<Record<string, DeclaredLimits>>;
}
export type Settings = Readonly<Record<NumberKey, number> & Record<TextKey, string> & ResourceSettings>;

/** Keys of a settings file that are not settings. */
const OTHER_FILE_KEYS = ['sources', 'resources'];

export interface SettingsSources {
  flags?: Partial<Record<string, unknown>>;
  environment?: Record<string, string | undefined>;
  file?: string;
  /** Settings of rowmill.config.ts, already checked. */
  project?: Partial<Settings>;
}

export function environmentName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

export function loadSettings(sources: SettingsSources = {}): Settings {
  const environment = sources.environment ?? process.env;
  const path = sources.file ?? emptyToUndefined(environment.ROWMILL_CONFIG);
  const file = { ...sources.project, ...readFileValues(path) };
  const flags = sources.flags ?? {};
  rejectUnknown(
    Object.keys(flags).filter((key) => key !== 'resources'),
    'setting',
  );
  rejectUnknown(
    Object.keys(file).filter((key) => !OTHER_FILE_KEYS.includes(key)),
    `key in ${path}`,
  );
  const given = (key: SettingKey): unknown =>
    flags[key] ?? emptyToUndefined(environment[environmentName(key)]) ?? file[key];
  const settings = { resources: checkedResources(flags.resources ?? file.resources ?? {}) } as Record<
    NumberKey,
    number
  > &
    Record<TextKey, string> &
    ResourceSettings;
  for (const key of Object.keys(NUMBER_SETTINGS) as NumberKey[]) {
    const value = given(key);
    settings[key] = value === undefined ? NUMBER_SETTINGS[key].default : checked(key, value);
  }
  for (const key of Object.keys(TEXT_SETTINGS) as TextKey[]) {
    const value = given(key);
    if (value !== undefined && (typeof value !== 'string' || value.trim() === ''))
      throw invalid(key, 'a non-empty text', value);
    settings[key] = (value as string | undefined) ?? TEXT_SETTINGS[key].default;
  }
  if (settings.claimMin > settings.claimMax)
    throw invalid('claimMin', `at most claimMax (${settings.claimMax})`, settings.claimMin);
  if (settings.lockFloorMs > settings.lockCapMs) {
    throw invalid('lockFloorMs', `at most lockCapMs (${settings.lockCapMs})`, settings.lockFloorMs);
  }
  return settings;
}

function checkedResources(given: unknown): ResourceSettings['resources'] {
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    throw new RowmillError('SETTINGS_INVALID', 'expected resources to be an object of limits by name');
  for (const [name, limits] of Object.entries(given)) {
    const wrong = checkLimits(name, limits);
    if (wrong !== null) throw new RowmillError('SETTINGS_INVALID', `resources: ${wrong}`);
  }
  return given as ResourceSettings['resources'];
}

/** Settings that need not be whole numbers. */
const FRACTIONS: readonly NumberKey[] = ['safetyFactor', 'pressureMemory', 'otelTracesSamplerArg'];

function checked(key: NumberKey, given: unknown): number {
  const { min, max } = NUMBER_SETTINGS[key];
  const value =
    typeof given === 'string' && /\d/.test(given) ? Number(given.trim().replaceAll('_', '')) : given;
  const isPart = FRACTIONS.includes(key);
  const whole = isPart || Number.isInteger(value);
  if (typeof value !== 'number' || !Number.isFinite(value) || !whole || value < min || value > max) {
    throw invalid(key, `a ${isPart ? '' : 'whole '}number from ${min} to ${max}`, given);
  }
  return value;
}

function invalid(key: string, expected: string, got: unknown): RowmillError {
  return new RowmillError(
    'SETTINGS_INVALID',
    `expected ${key} (${environmentName(key)}) to be ${expected}, got ${JSON.stringify(got)}`,
    { hint: `Correct the setting. See docs/configuration.md#${key.toLowerCase()}.` },
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
      throw new Error('it is not a JSON object');
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
  const known = [...Object.keys(NUMBER_SETTINGS), ...Object.keys(TEXT_SETTINGS)];
  for (const key of keys) {
    if (known.includes(key)) continue;
    throw new RowmillError('SETTINGS_INVALID', `unknown ${what}: ${key}${didYouMean(key, known)}`);
  }
}
