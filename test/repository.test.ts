// The rules of STYLE.md for the repository as a whole: imports between rooms, where SQL, time, randomness and the
// environment are used, and the names and lengths of files.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listFiles, readSources, type SourceFile } from './support/read-sources.ts';

const sources = readSources();

/** core, platform …; for files directly in src their own name. */
function roomOf(path: string): string {
  return path.split('/')[1]!;
}

const BELOW_WORKER = ['core', 'platform', 'store', 'pipeline', 'ingest', 'engine', 'export'];
const EVERYTHING_BELOW_CLI = [
  ...BELOW_WORKER,
  'worker',
  'contract',
  'client',
  'api',
  'testing',
  'open-rowmill.ts',
  'define-config.ts',
  'on-demand.ts',
  'index.ts',
];
/** Rooms that each room may import from, besides itself. */
const MAY_IMPORT: Record<string, string[]> = {
  core: [],
  platform: ['core'],
  store: ['core', 'platform'],
  export: ['core', 'platform', 'store'],
  pipeline: ['core', 'platform'],
  engine: ['core', 'platform', 'store', 'pipeline', 'export'],
  ingest: ['core', 'platform', 'store', 'pipeline', 'engine'],
  // A worker changes the store only through the engine.
  worker: BELOW_WORKER.map((room) => (room === 'store' ? 'store/views' : room)),
  contract: ['core'],
  client: ['core', 'contract'],
  api: ['core', 'platform', 'contract', 'pipeline', 'engine', 'ingest', 'export', 'store/views', 'worker'],
  cli: EVERYTHING_BELOW_CLI,
  testing: EVERYTHING_BELOW_CLI,
  'open-rowmill.ts': EVERYTHING_BELOW_CLI,
  ai: ['core'],
  'define-config.ts': ['platform', 'ingest'],
  'index.ts': EVERYTHING_BELOW_CLI,
  'on-demand.ts': ['platform', 'open-rowmill.ts'],
};

describe('the sources', () => {
  it('are found by these tests', () => {
    expect(sources.length).toBeGreaterThan(50);
    const claim = sources.find((source) => source.path === 'src/store/commands/spans/claim-items.ts')!;
    expect(claim.imports.map((each) => each.target)).toContain('src/core/items/seq-ranges.ts');
    expect(claim.strings.some((text) => SQL.test(text))).toBe(true);
    expect(claim.code).not.toContain('// ');
  });

  it('are in known rooms', () => {
    expect(
      [...new Set(sources.map((source) => roomOf(source.path)))].filter((room) => !MAY_IMPORT[room]),
    ).toEqual([]);
  });

  it('import only from the rooms below them', () => {
    const wrong = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target.startsWith('src/') && !mayImport(path, target))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('import only files that exist, by their full name', () => {
    const known = new Set(sources.map((source) => source.path));
    const wrong = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target.startsWith('src/') && !known.has(target))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  // Types do not exist at run time, so two files may import each other's.
  it('have no import cycles', () => {
    expect(findCycle(sources)).toBeNull();
  });

  // A command, a test or a reload loads rowmill.config.ts and its pipelines, which import rowmill.
  it('of the public interface load no database code until it is called', () => {
    const loaded = loadedBy('src/index.ts');
    expect(loaded).toContain('src/pipeline/define-pipeline.ts');
    expect(loaded.filter((path) => /^src\/(store|engine|ingest|export|worker)\//.test(path))).toEqual([]);
    expect(loaded).not.toContain('src/platform/database.ts');
  });

  it('with an import cycle would be reported', () => {
    const file = (path: string, target: string, typeOnly = false) =>
      ({ path, imports: [{ target, typeOnly }] }) as unknown as SourceFile;
    expect(findCycle([file('a', 'b'), file('b', 'c'), file('c', 'd')])).toBeNull();
    expect(findCycle([file('a', 'b'), file('b', 'c'), file('c', 'b')])).toEqual(['b', 'c', 'b']);
    expect(findCycle([file('a', 'b'), file('b', 'a', true)])).toBeNull();
  });
});

/** Files that Node loads with this one. */
function loadedBy(path: string, loaded = new Set<string>()): string[] {
  loaded.add(path);
  for (const { target, typeOnly, isOnDemand } of sources.find((source) => source.path === path)?.imports ??
    [])
    if (!typeOnly && !isOnDemand && target.startsWith('src/') && !loaded.has(target))
      loadedBy(target, loaded);
  return [...loaded];
}

function mayImport(path: string, target: string): boolean {
  const room = roomOf(path);
  return (
    roomOf(target) === room ||
    (MAY_IMPORT[room] ?? []).some((allowed) => `${target}/`.startsWith(`src/${allowed}/`))
  );
}

function findCycle(files: SourceFile[]): string[] | null {
  const imports = new Map(
    files.map((file) => [
      file.path,
      file.imports.filter((each) => !each.typeOnly).map((each) => each.target),
    ]),
  );
  const finished = new Set<string>();
  const visit = (path: string, trail: string[]): string[] | null => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (finished.has(path)) return null;
    for (const target of imports.get(path) ?? []) {
      const cycle = visit(target, [...trail, path]);
      if (cycle) return cycle;
    }
    finished.add(path);
    return null;
  };
  for (const path of imports.keys()) {
    const cycle = visit(path, []);
    if (cycle) return cycle;
  }
  return null;
}

const SQL = /\b(select|insert into|update|delete from)\b.*\b(from|set|values|where)\b/is;
const OUTSIDE_STORE = /^src\/platform\/(notifier\.ts$|embedded-postgres\/)/;

function filesWith(test: (source: SourceFile) => boolean, allowed: (path: string) => boolean): string[] {
  return sources.filter((source) => !allowed(source.path) && test(source)).map((source) => source.path);
}

describe('access to the outside world', () => {
  // The client runs in browsers, where platform does not.
  const inPlatform = (path: string) =>
    path.startsWith('src/platform/') || path === 'src/client/surroundings.ts';

  it('by SQL is only in store', () => {
    const found = filesWith(
      ({ strings }) => strings.some((text) => SQL.test(text)),
      (path) => path.startsWith('src/store/') || OUTSIDE_STORE.test(path),
    );
    expect(found).toEqual([]);
  });

  it('by the environment is only in platform', () => {
    expect(filesWith(({ code }) => /\bprocess\.env\b/.test(code), inPlatform)).toEqual([]);
  });

  it('by time is only in platform', () => {
    const clock = /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bprocess\.hrtime\b/;
    expect(filesWith(({ code }) => clock.test(code), inPlatform)).toEqual([]);
  });

  it('by randomness is only in platform', () => {
    const random = /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b|\bgetRandomValues\b/;
    expect(filesWith(({ code }) => random.test(code), inPlatform)).toEqual([]);
  });

  it('is not in core at all', () => {
    const found = sources
      .filter((source) => source.path.startsWith('src/core/'))
      .flatMap(({ path, imports }) =>
        imports
          .filter(
            ({ target, typeOnly }) =>
              !target.startsWith('src/core/') && !(typeOnly && !target.startsWith('src/')),
          )
          .map(({ target }) => `${path}: ${target}`),
      );
    expect(found).toEqual([]);
  });
});

describe('an exported name', () => {
  const EXPORTED =
    /^export (?:declare |abstract |async )*(?:function\*?|class|interface|type|const|let) (\w+)/gm;
  /** The client has its own, because it runs in browsers; Node names the hooks of its loader. */
  const SHARED = ['randomFraction', 'waitMs', 'initialize'];

  it('is declared in one file only', () => {
    const files = new Map<string, string[]>();
    for (const { path, code } of sources)
      for (const name of new Set(Array.from(code.matchAll(EXPORTED), ([, found]) => found!)))
        files.set(name, [...(files.get(name) ?? []), path]);
    expect(files.get('definePipeline')).toEqual(['src/pipeline/define-pipeline.ts']);
    const twice = [...files].filter(([name, paths]) => paths.length > 1 && !SHARED.includes(name));
    expect(twice.map(([name, paths]) => `${name}: ${paths.join(', ')}`)).toEqual([]);
  });
});

describe('files', () => {
  const files = [
    ...listFiles('src'),
    ...listFiles('test'),
    ...listFiles('examples'),
    ...listFiles('migrations'),
  ];

  it('have names in kebab-case', () => {
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|bench|d))*\.[a-z]+$/;
    const wrong = files.filter(
      (path) =>
        !path.startsWith('migrations/') && basename(path) !== 'README.md' && !kebab.test(basename(path)),
    );
    expect(wrong).toEqual([]);
  });

  it('are named after their purpose, not utils, helpers, common, types or manager', () => {
    const empty = /(^|-)(utils?|helpers?|commons?|types|managers?|misc)(-|\.)/;
    expect(files.filter((path) => empty.test(basename(path)))).toEqual([]);
  });

  it('have at most 500 lines, and those above 400 are listed', () => {
    const long = sources.filter((source) => source.lineCount > 400);
    for (const { path, lineCount } of long)
      console.warn(`${path} has ${lineCount} lines: is it still one thing?`);
    expect(long.filter((source) => source.lineCount > 500).map((source) => source.path)).toEqual([]);
  });
});

describe('test helpers', () => {
  it('register no hook when they are loaded: test files share a process, so the hook would run for the first file only', () => {
    const setupFiles = ['test/support/each-test-file.ts', 'test/support/fail-first-try.ts'];
    const withHook = listFiles('test')
      .filter((path) => /\.m?ts$/.test(path) && !path.endsWith('.test.ts'))
      .filter((path) => /^(before|after)(All|Each)\(/m.test(readFileSync(path, 'utf8')));
    expect(withHook.toSorted()).toEqual(setupFiles);
  });
});

describe('the lock file', () => {
  interface Entry {
    version?: string;
    integrity?: string;
    resolved?: string;
    link?: boolean;
    dev?: boolean;
    optional?: boolean;
    cpu?: string[];
  }
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, Entry>;
  };
  const entries = Object.entries(packages).filter(([path, { link }]) => path !== '' && !link);

  it('has the checksum of every package', () => {
    // Development tools bring binaries for other machines, which are not installed with Rowmill.
    const isForeignTool = ({ dev, optional, cpu }: Entry): boolean => Boolean(dev && optional && cpu);
    const without = entries.filter(([, entry]) => !/^sha512-/.test(entry.integrity ?? ''));
    expect(without.filter(([, entry]) => !isForeignTool(entry)).map(([path]) => path)).toEqual([]);
    expect(without.length, 'complete them, add none').toBeLessThanOrEqual(71);
  });

  it('names no host', () => {
    expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });
});
