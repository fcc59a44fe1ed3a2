// Every regular expression of src and web takes time linear in its input: a text of 60 KB once stalled every process
// that read it. Refused are quantifiers inside quantifiers, adjacent quantifiers that match the same text, and
// expressions that restart inside the text that their last attempt scanned.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { listFiles } from './support/read-sources.ts';
import { expressionsIn } from './support/regular-expressions.ts';
import { explainSlowExpression } from './support/slow-expression.ts';

const REPOSITORY = fileURLToPath(new URL('../', import.meta.url));

const expressions = [...listFiles('src'), ...listFiles('web')]
  .filter((path) => /\.tsx?$/.test(path) && !/\.test\.tsx?$/.test(path))
  .flatMap((path) => expressionsIn(path, readFileSync(join(REPOSITORY, path), 'utf8')));

it('no regular expression of the product takes more than linear time', () => {
  expect(expressions.length).toBeGreaterThan(200);
  const slow = expressions.flatMap(({ where, source, flags }) => {
    const because = explainSlowExpression(source, flags);
    return because === null ? [] : [`${where}: /${source}/${flags}: ${because}`];
  });
  expect(slow).toEqual([]);
});

it.each([
  ['a comment in a repeated group', '^(<!--[\\s\\S]*?-->\\s*|<\\?xml[^>]*>\\s*)*<html', 'i'],
  ['a repeated group of repeated words', '^(\\w+\\s?)*$', ''],
  ['zeros at the end', '^0+|0+$', 'g'],
  ['two runs of digits', '^[+-]?[\\d.,]*\\d[\\d.,]*$', ''],
  ['a comment that may not end', '<!--[\\s\\S]*?-->', 'g'],
  ['a bracket that may not close', '\\[[^\\]]*\\]', 'g'],
  ['a name before a colon', '\\w+:', 'g'],
])('%s is reported as slow', (_, source, flags) => {
  expect(explainSlowExpression(source, flags)).not.toBeNull();
});

it.each([
  ['quoted text', '"[^"]*"', 'g'],
  ['an address', 'https?:\\/\\/\\S+', 'gi'],
  ['words separated by commas', '^\\w+(?:,\\w+)?$', ''],
])('%s is not reported', (_, source, flags) => {
  expect(explainSlowExpression(source, flags)).toBeNull();
});
