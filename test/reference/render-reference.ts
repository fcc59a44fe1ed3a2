// Writes the generated parts of docs/errors.md and docs/configuration.md from the registries.
import {
  ERROR_REGISTRY,
  type ErrorCode,
  type RegisteredError,
} from '../../src/core/errors/error-registry.ts';
import { NUMBER_SETTINGS, TEXT_SETTINGS } from '../../src/platform/setting-table.ts';
import { environmentName, type SettingKey } from '../../src/platform/settings.ts';
import { ERROR_SECTIONS } from './error-meanings.ts';
import { SETTING_SECTIONS } from './setting-sections.ts';

/** The generated part of a page is between these lines. Everything else on the page is written by hand. */
const BEGIN = '<!-- npm run docs:reference writes the sections from here -->';
const END = '<!-- to here -->';
const WIDTH = 120;

/** Generated parts by page. */
export const REFERENCE_PAGES: Readonly<Record<string, () => string>> = {
  'docs/errors.md': renderErrors,
  'docs/configuration.md': renderSettings,
};

/** The page with its generated part replaced. */
export function replaceGenerated(page: string, generated: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`expected the lines ${BEGIN} and ${END}`);
  return `${before}${BEGIN}\n\n${generated}\n\n${END}${after}`;
}

function renderErrors(): string {
  return ERROR_SECTIONS.flatMap(({ heading, meanings }) => [
    `## ${heading}`,
    ...Object.entries(meanings).map(([code, meaning]) => renderError(code as ErrorCode, meaning)),
  ]).join('\n\n');
}

function renderError(code: ErrorCode, meaning: string): string {
  const { status, hint, apiHint, retryAfterMs }: RegisteredError = ERROR_REGISTRY[code];
  const facts = [
    `**Fix:** ${withLinks(hint)}`,
    ...(apiHint === undefined ? [] : [`**Over HTTP:** ${withLinks(apiHint)}`]),
    `**Status:** ${status}${retryAfterMs === undefined ? '' : `, Retry-After ${retryAfterMs / 1000} s`}`,
  ];
  return [
    `### \`${code}\``,
    wrap(withLinks(meaning)),
    facts.map((fact) => wrap(fact, '- ', '  ')).join('\n'),
  ].join('\n\n');
}

function renderSettings(): string {
  return SETTING_SECTIONS.flatMap(({ heading, intro, settings }) => [
    `## ${heading}`,
    ...(intro === undefined ? [] : [intro]),
    ...Object.entries(settings).map(([key, unit]) => renderSetting(key as SettingKey, unit)),
  ]).join('\n\n');
}

function renderSetting(key: SettingKey, unit: string | null): string {
  const { why } = { ...NUMBER_SETTINGS, ...TEXT_SETTINGS }[key];
  return [
    `### \`${key}\``,
    wrap(withSettingLinks(why, '')),
    wrap(`${rangeOf(key, unit)} Environment variable: \`${environmentName(key)}\`.`),
  ].join('\n\n');
}

function rangeOf(key: SettingKey, unit: string | null): string {
  if (isText(key)) return `Default: \`${TEXT_SETTINGS[key].default}\`.`;
  const { default: value, min, max } = NUMBER_SETTINGS[key];
  const shown = (number: number): string => number.toLocaleString('en-US', { useGrouping: unit !== 'port' });
  return `Default: ${shown(value)}${unitOf(value, unit)}. Bounds: ${shown(min)} to ${shown(max)}.`;
}

function isText(key: SettingKey): key is keyof typeof TEXT_SETTINGS {
  return Object.hasOwn(TEXT_SETTINGS, key);
}

function unitOf(value: number, unit: string | null): string {
  if (unit === null || unit === 'port') return '';
  if (unit === 'ms') return ` ms${inLarger(value, DURATIONS)}`;
  if (unit === 'bytes') return ` bytes${inLarger(value, SIZES)}`;
  return ` ${value === 1 ? unit.replace(/s$/, '') : unit}`;
}

const SECOND_MS = 1000;
const DAY_MS = 86_400 * SECOND_MS;
const DURATIONS: readonly (readonly [number, string])[] = [
  [DAY_MS, 'd'],
  [3600 * SECOND_MS, 'h'],
  [60 * SECOND_MS, 'min'],
  [SECOND_MS, 's'],
];
const SIZES: readonly (readonly [number, string])[] = [
  [10 ** 12, 'TB'],
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
];

/** The value in the largest unit that gives a whole number. */
function inLarger(value: number, units: readonly (readonly [number, string])[]): string {
  const found = units.find(([size]) => value >= size && value % size === 0);
  return found ? ` (${value / found[0]} ${found[1]})` : '';
}

/** Pages and settings become links, requests become code. */
function withLinks(text: string): string {
  const pages = text.replace(/\bdocs\/([\w-]+\.md)(#\w+)?/g, (_, page: string, anchor = '') =>
    anchor === '' ? `[${page}](${page})` : `[${page}${anchor}](${page}${anchor})`,
  );
  const requests = pages.replace(/(?:(?:GET|POST|PATCH|DELETE) )?\/api\/v1\/[\w/:.-]*\w/g, '`$&`');
  return withSettingLinks(requests, 'configuration.md');
}

/** Links setting names in camel case, with or without backquotes. */
function withSettingLinks(text: string, page: string): string {
  return text.replace(/`?\b([a-z]+[A-Z]\w*)\b`?/g, (found, key: string) =>
    Object.hasOwn(NUMBER_SETTINGS, key) || Object.hasOwn(TEXT_SETTINGS, key)
      ? `[\`${key}\`](${page}#${key.toLowerCase()})`
      : found,
  );
}

/** Breaks lines at spaces outside of code. */
function wrap(text: string, first = '', others = ''): string {
  const words = text.match(/(?:`[^`]*`|[^\s`])+/g) ?? [];
  const lines: string[] = [];
  let line = first;
  for (const word of words) {
    if (line.length + word.length > WIDTH && line.trim() !== '') {
      lines.push(line.trimEnd());
      line = others;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join('\n');
}
