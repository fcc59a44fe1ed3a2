// Prints the files and lines of each walk of ARCHITECTURE.md.
import { countLines, readWalks } from './read-walks.ts';

for (const { title, hops } of readWalks()) {
  const lines = hops.map(({ path }) => countLines(path));
  const total = lines.reduce((sum, each) => sum + each, 0);
  console.log(`${title}: ${hops.length} files, ${total.toLocaleString('en')} lines`);
  for (const [index, { path }] of hops.entries()) console.log(`${String(lines[index]).padStart(6)}  ${path}`);
}
