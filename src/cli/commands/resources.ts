// rowmill resources: limits of external services and their current use (docs/resources.md).
import { nearestName } from '../../core/errors/did-you-mean.ts';
import type { ResourceLimits, ResourceOverride } from '../../core/limits/resource-limits.ts';
import type { ResourceStatus } from '../../core/limits/resource-status.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { OverrideChange } from '../../store/commands/limits/override-resource.ts';
import { showUntilOver } from '../live-view.ts';
import { printable } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { JobPort } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { textTable } from '../text-table.ts';

const KNOWN_RESOURCES = 1000;

export interface ResourcesOptions extends TargetOptions {
  json?: boolean;
  limit?: number;
  watch?: boolean;
}

export interface ResourceSetOptions extends TargetOptions {
  json?: boolean;
  key?: string;
  rate?: number;
  concurrency?: number;
  minDelay?: number;
  adaptive?: boolean;
  pause?: boolean;
  resume?: boolean;
  clear?: boolean;
}

export async function showResources(name: string | undefined, options: ResourcesOptions): Promise<number> {
  return withPort(options, async (port) => {
    const { json = false, limit = 100 } = options;
    const look = () => port.resources({ name, limit });
    if (options.watch)
      await showUntilOver(
        async () => ({ lines: resourceLines(await look(), json, true), isOver: false }),
        json,
      );
    else for (const line of resourceLines(await look(), json, false)) console.log(line);
    return 0;
  });
}

export async function setResource(name: string, options: ResourceSetOptions): Promise<number> {
  const change = changeOf(options);
  return withPort(options, async (port) => {
    const key = options.key;
    await refuseMisspelt(port, name);
    const override = await port.setResource(name, change, key);
    if (options.json) console.log(JSON.stringify({ name, key: key ?? '', override }));
    else {
      const which = key === undefined ? name : `${name}, key ${key}`;
      console.log(`Resource ${which}: ${describeOverride(override) || 'as declared'}`);
    }
    return 0;
  });
}

/** Without this check a misspelt name would be stored without any effect. */
async function refuseMisspelt(port: JobPort, name: string): Promise<void> {
  if ((await port.resources({ name, limit: 1 })).length > 0) return;
  const known = [...new Set((await port.resources({ limit: KNOWN_RESOURCES })).map((each) => each.name))];
  const near = nearestName(name, known);
  if (near !== null)
    throw new RowmillError('RESOURCE_INVALID', `there is no resource ${name}, did you mean ${near}?`, {
      hint: `Known resources: ${known.slice(0, 20).join(', ')}.`,
    });
  console.error(`note: no worker has used a resource ${printable(name)} yet`);
}

function changeOf(options: ResourceSetOptions): OverrideChange {
  const { rate, concurrency, minDelay, adaptive, pause, resume, clear, key } = options;
  if (pause && resume) throw new RowmillError('RESOURCE_INVALID', 'expected --pause or --resume, got both');
  const cleared = { ratePerSecond: null, concurrency: null, minDelayMs: null, adaptive: null, paused: null };
  return {
    ...(clear && cleared),
    ...(rate !== undefined && { ratePerSecond: rate }),
    ...(concurrency !== undefined && { concurrency }),
    ...(minDelay !== undefined && { minDelayMs: minDelay }),
    ...(adaptive !== undefined && { adaptive }),
    ...(pause && { paused: true }),
    // False keeps one key running even if the whole resource is paused.
    ...(resume && { paused: key === undefined ? null : false }),
  };
}

/** As JSON, one array; in a view that changes, one object per line. */
function resourceLines(listed: readonly ResourceStatus[], json: boolean, isView: boolean): string[] {
  if (json) return isView ? listed.map((each) => JSON.stringify(each)) : [JSON.stringify(listed)];
  if (listed.length === 0) return ['No resource is in use. See docs/resources.md for how to declare one.'];
  return resourceTable(listed);
}

const HEADERS = ['Name', 'Key', 'In use', 'Declared', 'Override', 'Share', 'Rate now', 'State', 'Workers'];

export function resourceTable(listed: readonly ResourceStatus[]): string[] {
  return textTable(
    HEADERS,
    listed.map((each) => [
      each.name,
      each.key === '' ? '-' : each.key,
      `${each.inUse} / ${each.held}`,
      each.limits === null ? 'not used yet' : describeLimits(each.limits),
      describeOverride(each.override) || '-',
      `${Math.round(each.share * 100)}%`,
      each.rateNow === null ? '-' : `${Number(each.rateNow.toPrecision(3))}/s`,
      describeState(each),
      String(each.workers),
    ]),
    { drop: ['Workers', 'Override', 'Rate now', 'Share', 'Declared'] },
  );
}

function describeLimits({ ratePerSecond, concurrency, minDelayMs, adaptive }: ResourceLimits): string {
  const parts = [
    ...(ratePerSecond === null ? [] : [`${ratePerSecond}/s`]),
    ...(concurrency === null ? [] : [`${concurrency} at once`]),
    ...(minDelayMs === 0 ? [] : [`${minDelayMs} ms apart`]),
  ];
  return `${parts.join(', ') || 'no limits'}${adaptive ? '' : ', fixed'}`;
}

function describeOverride(override: ResourceOverride): string {
  const { ratePerSecond, concurrency, minDelayMs, adaptive, paused } = override;
  return [
    ...(ratePerSecond == null ? [] : [`${ratePerSecond}/s`]),
    ...(concurrency == null ? [] : [`${concurrency} at once`]),
    ...(minDelayMs == null ? [] : [`${minDelayMs} ms apart`]),
    ...(adaptive == null ? [] : [adaptive ? 'adaptive' : 'fixed']),
    ...(paused == null ? [] : [paused ? 'paused' : 'not paused']),
  ].join(', ');
}

function describeState({ state, stopped }: ResourceStatus): string {
  if (!stopped) return state;
  const forHowLong = stopped.forMs === null ? '' : ` for ${(stopped.forMs / 1000).toFixed(1)} s`;
  return `${state}${forHowLong} (${stopped.reason})`;
}
