// `npm run docs:reference`: updates the generated parts of docs/errors.md and docs/configuration.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { REFERENCE_PAGES, replaceGenerated } from './render-reference.ts';

for (const [page, render] of Object.entries(REFERENCE_PAGES)) {
  const path = new URL(`../../${page}`, import.meta.url);
  writeFileSync(path, replaceGenerated(readFileSync(path, 'utf8'), render()));
}
