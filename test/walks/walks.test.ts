import { describe, expect, it } from 'vitest';
import { findBrokenHops, readWalks } from './read-walks.ts';

describe('the walks of ARCHITECTURE.md', () => {
  const walks = readWalks();

  it('are found, each with its files', () => {
    expect(walks.map(({ title }) => title.split(':')[0])).toEqual([
      'Walk 1',
      'Walk 2',
      'Walk 3',
      'Walk 4',
      'Walk 5',
    ]);
    expect(walks.filter(({ hops }) => hops.length < 4)).toEqual([]);
  });

  it.each(walks)('$title: every file exists, and an earlier one leads to it', (walk) => {
    expect(findBrokenHops(walk)).toEqual([]);
  });
});

describe('a hop', () => {
  const files: Record<string, string> = {
    'a.ts': "import { b } from './b.ts';\nsend('named');",
    'b.ts': '',
    'c.ts': "on('named');",
  };
  const read = (path: string): string => {
    const text = files[path];
    if (text === undefined) throw new Error('no such file');
    return text;
  };
  const check = (...hops: [path: string, by?: string][]): string[] =>
    findBrokenHops({ title: 'Walk', hops: hops.map(([path, by = null]) => ({ path, by })) }, read);

  it('is an import of any earlier file, or a word that both files contain', () => {
    expect(check(['a.ts'], ['b.ts'], ['c.ts', 'named'])).toEqual([]);
  });

  it('is reported if the file is missing or nothing leads to it', () => {
    expect(check(['a.ts'], ['gone.ts'])).toEqual(['Walk: gone.ts does not exist']);
    expect(check(['a.ts'], ['c.ts'])).toEqual(['Walk: no earlier file imports c.ts']);
    expect(check(['b.ts'], ['c.ts', 'named'])).toEqual([
      'Walk: c.ts and the files before it do not share named',
    ]);
  });

  it('is read from numbered lines under the title of a walk', () => {
    const text =
      '## Walk 1: a to b\n\n1. [`a.ts`](src/a.ts): x\n2. [`b.ts`](src/b.ts), by `named`: y\n\n## Else\n\n1. [`c`](c)\n';
    expect(readWalks(text)).toEqual([
      {
        title: 'Walk 1: a to b',
        hops: [
          { path: 'src/a.ts', by: null },
          { path: 'src/b.ts', by: 'named' },
        ],
      },
    ]);
  });
});
