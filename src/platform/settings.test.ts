import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { NUMBER_SETTINGS } from './setting-table.ts';
import { environmentName, loadSettings } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'rowmill-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const KEYS = Object.keys(NUMBER_SETTINGS) as (keyof typeof NUMBER_SETTINGS)[];

function fileWith(text: string): string {
  const path = join(folder, 'rowmill.json');
  writeFileSync(path, text);
  return path;
}

function messageOf(load: () => unknown): string {
  try {
    load();
  } catch (error) {
    expect(error).toBeInstanceOf(RowmillError);
    expect((error as RowmillError).code).toBe('SETTINGS_INVALID');
    expect((error as RowmillError).hint).toContain('docs/configuration.md');
    return (error as RowmillError).message;
  }
  throw new Error('expected the settings to be refused');
}

describe('settings', () => {
  it('default to values within their bounds', () => {
    const settings = loadSettings({ environment: {} });
    for (const key of KEYS) {
      const { default: value, min, max } = NUMBER_SETTINGS[key];
      expect(settings[key]).toBe(value);
      expect(value).toBeGreaterThanOrEqual(min);
      expect(value).toBeLessThanOrEqual(max);
    }
  });

  it('come from flags, then the environment, then the file, then the defaults', () => {
    const file = fileWith('{"claimMax": 11, "sweepMs": 111, "drainMs": 1111}');
    const environment = { CLAIM_MAX: '22', SWEEP_MS: '222' };
    expect(loadSettings({ flags: { claimMax: 33 }, environment, file })).toMatchObject({
      claimMax: 33,
      sweepMs: 222,
      drainMs: 1111,
      pollMaxMs: NUMBER_SETTINGS.pollMaxMs.default,
    });
  });

  it('ignore empty variables and undefined flags', () => {
    const environment = { CLAIM_MAX: '' };
    expect(loadSettings({ flags: { claimMax: undefined }, environment }).claimMax).toBe(
      NUMBER_SETTINGS.claimMax.default,
    );
  });

  it('may contain underscores and surrounding spaces', () => {
    expect(loadSettings({ environment: { CLAIM_MAX: ' 1_500 ' } }).claimMax).toBe(1500);
  });

  it('have unique environment names in upper snake case', () => {
    expect(environmentName('workerTargetSliceMs')).toBe('WORKER_TARGET_SLICE_MS');
    expect(new Set(KEYS.map(environmentName)).size).toBe(KEYS.length);
  });

  it.each([
    ['INGEST_MIN_ROWS', 'ingestMinRows'],
    ['INGEST_MAX_ROWS', 'ingestMaxRows'],
    ['INGEST_MAX_BATCH_BYTES', 'ingestMaxBatchBytes'],
    ['DB_P95_MS', 'dbP95Ms'],
    ['DB_P50_MS', 'dbP50Ms'],
    ['WORKER_TARGET_SLICE_MS', 'workerTargetSliceMs'],
    ['CLAIM_MIN', 'claimMin'],
    ['CLAIM_MAX', 'claimMax'],
    ['SAFETY_FACTOR', 'safetyFactor'],
    ['LOCK_FLOOR_MS', 'lockFloorMs'],
    ['LOCK_CAP_MS', 'lockCapMs'],
    ['MAX_ATTEMPTS_ERROR', 'maxAttemptsError'],
    ['MAX_ATTEMPTS_NOT_FOUND', 'maxAttemptsNotFound'],
  ] as const)('keep their published names: %s', (variable, key) => {
    const { default: value, max } = NUMBER_SETTINGS[key];
    const other = key === 'safetyFactor' ? 0.5 : Math.min(max, value + 7);
    expect(loadSettings({ environment: { [variable]: String(other) } })[key]).toBe(other);
  });

  it.each(KEYS)('are accepted at both bounds and refused beyond them: %s', (key) => {
    const { min, max } = NUMBER_SETTINGS[key];
    // Wide values for settings that are compared with the tested one.
    const partners = { claimMin: 1, claimMax: 100_000, lockFloorMs: 200, lockCapMs: 86_400_000 };
    const load = (value: number) =>
      loadSettings({ flags: { ...partners, [key]: value }, environment: {} })[key];
    expect(load(min)).toBe(min);
    expect(load(max)).toBe(max);
    const isPart = ['safetyFactor', 'pressureMemory', 'otelTracesSamplerArg'].includes(key);
    for (const beyond of [min - 1, max + 1]) {
      expect(messageOf(() => load(beyond))).toBe(
        `expected ${key} (${environmentName(key)}) to be a ${isPart ? '' : 'whole '}number from ${min} to ${max}, got ${beyond}`,
      );
    }
  });

  it.each([
    ['words', 'many', '"many"'],
    ['a fraction', '1.5', '"1.5"'],
    ['NaN', 'NaN', '"NaN"'],
    ['Infinity', 'Infinity', '"Infinity"'],
    ['a number with its unit', '5s', '"5s"'],
  ])('are refused when they are %s', (_, given, shown) => {
    expect(messageOf(() => loadSettings({ environment: { SWEEP_MS: given } }))).toBe(
      `expected sweepMs (SWEEP_MS) to be a whole number from 50 to 600000, got ${shown}`,
    );
  });

  it.each([true, null, [], {}])('are refused when a file has %j', (value) => {
    const file = fileWith(JSON.stringify({ sweepMs: value }));
    expect(messageOf(() => loadSettings({ environment: {}, file }))).toContain(
      `got ${JSON.stringify(value)}`,
    );
  });

  it.each(['   ', '_'])('do not read the variable %j as zero', (given) => {
    expect(() => loadSettings({ environment: { DRAIN_MS: given } })).toThrow(RowmillError);
  });

  it('may be fractions where a fraction makes sense', () => {
    expect(loadSettings({ environment: { SAFETY_FACTOR: '0.25' } }).safetyFactor).toBe(0.25);
  });

  it.each([
    [{ claimMin: 50, claimMax: 10 }, 'expected claimMin (CLAIM_MIN) to be at most claimMax (10), got 50'],
    [
      { lockFloorMs: 5000, lockCapMs: 4000 },
      'expected lockFloorMs (LOCK_FLOOR_MS) to be at most lockCapMs (4000), got 5000',
    ],
  ])('are refused when they contradict each other', (flags, message) => {
    expect(messageOf(() => loadSettings({ flags, environment: {} }))).toBe(message);
  });
});

describe('an invalid setting', () => {
  it('links to its section of docs/configuration.md', () => {
    expect(() => loadSettings({ environment: { CLAIM_MAX: '0' } })).toThrow(
      expect.objectContaining({ hint: 'Correct the setting. See docs/configuration.md#claimmax.' }),
    );
  });
});

describe('an unknown setting', () => {
  it.each([
    [{ claimMx: 5 }, 'unknown setting: claimMx, did you mean claimMax?'],
    [{ sweepMS: 5 }, 'unknown setting: sweepMS, did you mean sweepMs?'],
    [{ flushMaxItem: 5 }, 'unknown setting: flushMaxItem, did you mean flushMaxItems?'],
    [{ colour: 5 }, 'unknown setting: colour'],
  ])('is reported with the closest known name', (flags, message) => {
    expect(messageOf(() => loadSettings({ flags, environment: {} }))).toBe(message);
  });

  it('is reported with the name of its file', () => {
    const file = fileWith('{"clamMax": 5}');
    expect(messageOf(() => loadSettings({ environment: {}, file }))).toBe(
      `unknown key in ${file}: clamMax, did you mean claimMax?`,
    );
  });

  it('is ignored in the environment', () => {
    expect(loadSettings({ environment: { CLAIM_MX: '5' } })).toEqual(loadSettings({ environment: {} }));
  });
});

describe('a settings file', () => {
  it.each([
    ['[1]', 'it is not a JSON object'],
    ['null', 'it is not a JSON object'],
    ['{', 'JSON'],
  ])('that contains %s is refused', (text, reason) => {
    const file = fileWith(text);
    const message = messageOf(() => loadSettings({ environment: {}, file }));
    expect(message).toContain(`cannot read settings from ${file}: `);
    expect(message).toContain(reason);
  });

  it('that does not exist is refused', () => {
    const file = join(folder, 'absent.json');
    expect(messageOf(() => loadSettings({ environment: {}, file }))).toContain(
      `cannot read settings from ${file}: ENOENT`,
    );
  });
});
