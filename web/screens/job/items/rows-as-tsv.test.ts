import { expect, test } from 'vitest';
import type { Item } from '../../../lib/job.ts';
import { rowsAsTsv } from './rows-as-tsv.ts';

test('cells stay in their places, and none becomes a formula', () => {
  const texts = ['plain', 'a\tb', 'two\nlines', 'say "yes"', '=1+1', '-5', '-cmd', '@x'];
  const columns = [
    { title: 'Value', text: ({ seq }: Item) => texts[seq]! },
    { title: '=Row', text: ({ seq }: Item) => String(seq) },
  ];
  const rows = texts.map((_, seq) => ({ seq }) as Item);
  expect(rowsAsTsv(rows, columns)).toBe(
    [
      "Value\t'=Row",
      'plain\t0',
      '"a\tb"\t1',
      '"two\nlines"\t2',
      '"say ""yes"""\t3',
      "'=1+1\t4",
      '-5\t5',
      "'-cmd\t6",
      "'@x\t7",
      '',
    ].join('\n'),
  );
});
