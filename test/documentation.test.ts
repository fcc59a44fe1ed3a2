// Keeps docs/errors.md and docs/configuration.md equal to the registries, in both directions, and links alive. A failing
// comparison shows the row as it has to be.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_REGISTRY } from '../src/core/errors/error-registry.ts';
import { NUMBER_SETTINGS, TEXT_SETTINGS } from '../src/platform/setting-table.ts';
import { environmentName } from '../src/platform/settings.ts';
import { listFiles, readSources } from './support/read-sources.ts';

/** The cells of every table row whose first cell is a name in backquotes. */
function readRows(path: string, section: { from?: string; to?: string } = {}): string[][] {
  let text = readFileSync(new URL(path, import.meta.url), 'utf8');
  if (section.from) text = text.slice(text.indexOf(section.from));
  if (section.to) text = text.slice(0, text.indexOf(section.to));
  return text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

function byName(a: string[], b: string[]): number {
  return a[0]!.localeCompare(b[0]!);
}

describe('docs/errors.md', () => {
  const rows = readRows('../docs/errors.md');

  it('has every code of the registry, and no other, with its status and its hint', () => {
    const documented = rows.map(([code, status, , hint]) => [code, status, hint] as string[]);
    const registered = Object.entries(ERROR_REGISTRY).map(([code, { status, hint }]) => [
      `\`${code}\``,
      String(status),
      hint,
    ]);
    expect(documented.sort(byName)).toEqual(registered.sort(byName));
  });

  it('says of every code what it means', () => {
    for (const row of rows) {
      expect(row).toHaveLength(4);
      expect(row[2]).toMatch(/^\S.{10,}\.$/);
    }
  });
});

describe('docs/operating.md', () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

  it('has every alert of deploy/prometheus-alerts.yml, and no other', () => {
    const documented = readRows('../docs/operating.md')
      .map(([name]) => name!.replaceAll('`', ''))
      .filter((name) => name.startsWith('Rowmill'));
    const alerts = [...read('../deploy/prometheus-alerts.yml').matchAll(/- alert: (\w+)/g)].map(
      ([, name]) => name,
    );
    expect(documented.sort()).toEqual(alerts.sort());
  });

  it('names only log lines that are written, at their level', () => {
    const source = read('../src/platform/log-events.ts');
    const rows = readRows('../docs/operating.md', { from: '## Logs', to: '## Health' });
    expect(rows).toHaveLength(4);
    for (const [level, lines] of rows)
      for (const [, line] of lines!.matchAll(/`([^`]+)`/g)) {
        expect(source, `${level} ${line}`).toMatch(new RegExp(`'${line}'`));
        expect(source).toMatch(new RegExp(`(${level!.replaceAll('`', '')}).*'${line}'`));
      }
  });
});

describe('docs/configuration.md', () => {
  const rows = readRows('../docs/configuration.md', { to: '### Settings that are texts' }).concat(
    readRows('../docs/configuration.md', { from: '### The rest', to: '## Other variables' }),
  );
  const number = (value: number) => value.toLocaleString('en-US');

  it('has every setting, and no other, with its variable, default, bounds and reason', () => {
    const documented = rows.map(([key, variable, value, , bounds, why]) =>
      [key, variable, value, bounds, why].map(String),
    );
    const known = Object.entries(NUMBER_SETTINGS).map(([key, { default: value, min, max, why }]) => [
      `\`${key}\``,
      `\`${environmentName(key)}\``,
      number(value),
      `${number(min)} to ${number(max)}`,
      why,
    ]);
    expect(documented.sort(byName)).toEqual(known.sort(byName));
  });

  it('has every setting that is text', () => {
    const section = { from: '### Settings that are texts', to: '### The rest' };
    const known = Object.entries(TEXT_SETTINGS).map(([key, { default: value, why }]) => [
      `\`${key}\``,
      `\`${environmentName(key)}\``,
      `\`${value}\``,
      why,
    ]);
    expect(readRows('../docs/configuration.md', section)).toEqual(known);
  });

  it('gives every setting the unit that its name says', () => {
    for (const [key, , , unit] of rows) {
      expect(unit).toMatch(/^[a-z]/);
      expect([key, unit === 'ms']).toEqual([key, key!.endsWith('Ms`')]);
      expect([key, unit === 'bytes']).toEqual([key, key!.endsWith('Bytes`')]);
    }
  });

  it('has every other environment variable that is read, and no other', () => {
    const documented = readRows('../docs/configuration.md', { from: '## Other variables' }).map(
      ([name]) => name,
    );
    const read = new Set<string>();
    for (const { code } of readSources()) {
      for (const match of code.matchAll(/(?:process\.env|environment)\.([A-Z_]+)/g))
        read.add(`\`${match[1]}\``);
    }
    expect(documented.sort()).toEqual([...read].sort());
  });
});

describe('links in the documents', () => {
  const documents = [
    ...readdirSync(new URL('..', import.meta.url)),
    ...['docs', 'bench/results', 'examples', 'template'].flatMap(listFiles),
  ].filter((path) => path.endsWith('.md'));
  const linesOf = (path: string): string[] => {
    const text = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
    return text.replace(/^```.*?^```$/gms, '').split('\n');
  };
  const anchorsOf = (path: string): string[] =>
    linesOf(path)
      .filter((line) => /^#+ /.test(line))
      .map((line) =>
        line
          .replace(/^#+ /, '')
          .toLowerCase()
          .replace(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      );

  it('lead to files and headings that exist', () => {
    const broken: string[] = [];
    let checked = 0;
    for (const document of documents) {
      for (const [, target] of linesOf(document)
        .join('\n')
        .matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target!)) continue;
        checked += 1;
        const [file, anchor] = target!.split('#') as [string, string | undefined];
        const path = file === '' ? document : posix.join(posix.dirname(document), file);
        const isThere = existsSync(new URL(`../${path}`, import.meta.url));
        if (!isThere || (anchor !== undefined && !anchorsOf(path).includes(anchor)))
          broken.push(`${document}: ${target}`);
      }
    }
    expect(broken).toEqual([]);
    expect(checked).toBeGreaterThan(50);
  });
});
