// Keeps docs/errors.md and docs/configuration.md equal to the registries, and links alive.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorDocs } from '../src/core/errors/error-docs.ts';
import { ERROR_REGISTRY } from '../src/core/errors/error-registry.ts';
import { NUMBER_SETTINGS, TEXT_SETTINGS } from '../src/platform/setting-table.ts';
import { ERROR_SECTIONS } from './reference/error-meanings.ts';
import { REFERENCE_PAGES, replaceGenerated } from './reference/render-reference.ts';
import { SETTING_SECTIONS } from './reference/setting-sections.ts';
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

const readPage = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

/** Names in backquotes that are headings of the third level. */
function readHeadings(text: string): string[] {
  return Array.from(text.matchAll(/^### `(\w+)`$/gm), ([, name]) => name!);
}

/** Anchors that GitHub gives to the headings. */
function anchorsIn(text: string): string[] {
  return Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe.each(Object.entries(REFERENCE_PAGES))('%s', (path, render) => {
  it('is as its registry has it', () => {
    const page = readPage(path);
    expect(page, 'run `npm run docs:reference` and commit the page').toBe(replaceGenerated(page, render()));
  });
});

describe('docs/errors.md', () => {
  const page = readPage('docs/errors.md');

  it('has a section for every code of the registry, and for no other', () => {
    const explained = ERROR_SECTIONS.flatMap(({ meanings }) => Object.keys(meanings));
    const codes = Object.keys(ERROR_REGISTRY);
    expect(explained.toSorted(), 'add the code to test/reference/error-meanings.ts').toEqual(
      codes.toSorted(),
    );
    expect(readHeadings(page).toSorted()).toEqual(codes.toSorted());
  });

  it('explains every code in a sentence', () => {
    for (const { meanings } of ERROR_SECTIONS)
      for (const meaning of Object.values(meanings)) expect(meaning).toMatch(/^[A-Z`].{10,}\.$/);
  });

  it('has the section that each error links to', () => {
    const anchors = anchorsIn(page);
    for (const code of Object.keys(ERROR_REGISTRY)) {
      const [file, anchor] = errorDocs(code).split('#');
      expect(file).toBe('docs/errors.md');
      expect(anchors).toContain(anchor);
    }
  });
});

describe('docs/operating.md', () => {
  it('has every alert of deploy/prometheus-alerts.yml, and no other', () => {
    const documented = readRows('../docs/operating.md')
      .map(([name]) => name!.replaceAll('`', ''))
      .filter((name) => name.startsWith('Rowmill'));
    const alerts = [...readPage('deploy/prometheus-alerts.yml').matchAll(/- alert: (\w+)/g)].map(
      ([, name]) => name,
    );
    expect(documented.sort()).toEqual(alerts.sort());
  });

  it('names all lines of events from info up, and only log lines that are written, at their level', () => {
    const [source, ...others] = [
      'src/platform/log-events.ts',
      'src/worker/process/worker-connections.ts',
      'src/api/operations/offer-first-account.ts',
      'src/platform/traces/trace-exporter.ts',
    ].map(readPage) as [string, ...string[]];
    const page = readPage('docs/operating.md');
    const section = page.slice(page.indexOf('## Logs'), page.indexOf('## Health'));
    const documented = [...section.matchAll(/^- ((?:`[^`]+`,?\s+)+)\((\w+)\):/gm)].flatMap(
      ([, names, level]) =>
        [...names!.matchAll(/`([^`]+)`/g)].map(([, line]) => [level!, line!.replace(/\s+/g, ' ')] as const),
    );
    expect(documented.length).toBeGreaterThan(30);
    for (const [level, line] of documented)
      expect([source, ...others].join('\n'), `${level} ${line}`).toMatch(
        new RegExp(`'${level}'.*'${line}'|log\\.${level}\\([^;]*'${line}'`),
      );
    const lines = [...source.matchAll(/\['(info|warn|error)', '([^']+)'\]/g)];
    expect(lines.length).toBeGreaterThan(25);
    for (const [, level, line] of lines) expect(documented).toContainEqual([level, line]);
  });
});

describe('docs/configuration.md', () => {
  const page = readPage('docs/configuration.md');
  const units = SETTING_SECTIONS.flatMap(({ settings }) => Object.entries(settings));

  it('has a section for every setting, and for no other', () => {
    const known = [...Object.keys(NUMBER_SETTINGS), ...Object.keys(TEXT_SETTINGS)];
    const listed = units.map(([key]) => key);
    expect(listed.toSorted(), 'add the setting to test/reference/setting-sections.ts').toEqual(
      known.toSorted(),
    );
    const [settings] = page.split('## Other environment variables');
    expect(readHeadings(settings!).toSorted()).toEqual(known.toSorted());
  });

  it('begins with the ten settings that people change most', () => {
    expect(Object.keys(SETTING_SECTIONS[0]!.settings)).toHaveLength(10);
  });

  it('gives every setting the unit that its name implies', () => {
    for (const [key, unit] of units) {
      expect([key, unit === 'ms']).toEqual([key, key.endsWith('Ms')]);
      expect([key, unit === 'bytes']).toEqual([key, key.endsWith('Bytes')]);
      expect([key, unit === 'text']).toEqual([key, key in TEXT_SETTINGS]);
    }
  });

  it('has every other environment variable that is read, and no other', () => {
    const documented = readHeadings(page.split('## Other environment variables')[1]!);
    const read = new Set<string>();
    for (const { code } of readSources())
      for (const match of code.matchAll(/(?:process\.env|environment)\.([A-Z_]+)/g)) read.add(match[1]!);
    expect(documented.toSorted()).toEqual([...read].toSorted());
  });
});

describe('links in the documents', () => {
  const documents = [
    ...readdirSync(new URL('..', import.meta.url)),
    ...['docs', 'bench/results', 'examples', 'template'].flatMap(listFiles),
  ].filter((path) => path.endsWith('.md'));
  const withoutCode = (path: string): string => readPage(path).replace(/^```.*?^```$/gms, '');

  it('lead to files and headings that exist', () => {
    const broken: string[] = [];
    let checked = 0;
    for (const document of documents) {
      for (const [, target] of withoutCode(document).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target!)) continue;
        checked += 1;
        const [file, anchor] = target!.split('#') as [string, string | undefined];
        const path = file === '' ? document : posix.join(posix.dirname(document), file);
        const isThere = existsSync(new URL(`../${path}`, import.meta.url));
        if (!isThere || (anchor !== undefined && !anchorsIn(withoutCode(path)).includes(anchor)))
          broken.push(`${document}: ${target}`);
      }
    }
    expect(broken).toEqual([]);
    expect(checked).toBeGreaterThan(50);
  });
});
