// `npm run example <name>`: runs an example; without a name it lists them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const folder = new URL('./', import.meta.url);
const names = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(new URL(`${entry.name}/run.ts`, folder)))
  .map(({ name }) => name)
  .sort();

/** Reads the sentence under the heading of the example's README. */
function sentenceOf(name: string): string {
  const [, , sentence = ''] = readFileSync(new URL(`${name}/README.md`, folder), 'utf8').split('\n');
  return sentence;
}

const [name, ...args] = process.argv.slice(2);
if (name !== undefined && names.includes(name)) {
  const { run } = (await import(new URL(`${name}/run.ts`, folder).href)) as {
    run: (args: readonly string[]) => Promise<void>;
  };
  await run(args);
} else {
  if (name !== undefined) console.error(`There is no example named ${JSON.stringify(name)}.`);
  console.error('npm run example <name> [-- --large]\n');
  for (const known of names) console.error(`  ${known.padEnd(14)}${sentenceOf(known)}`);
  process.exitCode = name === undefined ? 0 : 2;
}
