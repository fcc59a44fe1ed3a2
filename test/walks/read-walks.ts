// The walks of ARCHITECTURE.md: numbered lists of files in reading order.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url));

export interface Hop {
  /** Path from the repository root: src/core/job-state.ts. */
  path: string;
  /** Set if no import leads to the file: a word that an earlier file of the walk and this one both contain. */
  by: string | null;
}

export interface Walk {
  title: string;
  hops: Hop[];
}

const TITLE = /^## (Walk \d+: .+)$/;
const HOP = /^\d+\. \[`[^`]+`\]\(([^)]+)\)(?:, by `([^`]+)`)?/;

export function readWalks(text = readFileSync(join(REPOSITORY, 'ARCHITECTURE.md'), 'utf8')): Walk[] {
  const walks: Walk[] = [];
  let walk: Walk | null = null;
  for (const line of text.split('\n')) {
    if (line.startsWith('## ')) {
      const title = TITLE.exec(line)?.[1];
      walk = title === undefined ? null : { title, hops: [] };
      if (walk) walks.push(walk);
    }
    const hop = HOP.exec(line);
    if (walk && hop) walk.hops.push({ path: hop[1]!, by: hop[2] ?? null });
  }
  return walks;
}

export function readSource(path: string): string {
  return readFileSync(join(REPOSITORY, path), 'utf8');
}

export function countLines(path: string): number {
  return readSource(path).split('\n').length - 1;
}

/** Broken hops of a walk: a file that does not exist, or that no earlier file leads to. */
export function findBrokenHops({ title, hops }: Walk, read = readSource): string[] {
  const broken: string[] = [];
  const before: { path: string; text: string }[] = [];
  for (const { path, by } of hops) {
    let text: string;
    try {
      text = read(path);
    } catch {
      broken.push(`${title}: ${path} does not exist`);
      continue;
    }
    const leads =
      before.length === 0 ||
      (by === null
        ? before.some((earlier) => importsOf(earlier).includes(path))
        : text.includes(by) && before.some((earlier) => earlier.text.includes(by)));
    if (!leads)
      broken.push(
        by === null
          ? `${title}: no earlier file imports ${path}`
          : `${title}: ${path} and the files before it do not share ${by}`,
      );
    before.push({ path, text });
  }
  return broken;
}

function importsOf({ path, text }: { path: string; text: string }): string[] {
  const targets = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return [...targets].map(([, target]) => join(dirname(path), target!).replaceAll('\\', '/'));
}
