import { describe, expect, it } from 'vitest';
import { findTable, type SampleRow, skipTitles } from './find-table.ts';

/** Cells are separated by bars. An empty text is an empty line, which is not a row. */
function rowsOf(...lines: string[]): SampleRow[] {
  return lines.flatMap((text, index) =>
    text === '' ? [] : [{ line: index + 1, cells: text.split('|').map((cell) => cell.trim()) }],
  );
}

function find(...lines: string[]) {
  const rows = rowsOf(...lines);
  const first = skipTitles(rows, 0);
  const { headerRows, names, hasUnits } = findTable(rows, first);
  return { line: rows[first]?.line, headerRows, names, hasUnits };
}

describe('the header of a table', () => {
  it.each<[string, string[], number, string[]]>([
    ['is the first row', ['id|name|price', '1|Ann|2.5', '2|Bob|3'], 1, ['id', 'name', 'price']],
    ['is below a title', ['Report 2024', 'id|name|price', '1|Ann|2.5'], 2, ['id', 'name', 'price']],
    [
      'is below titles, empty rows and notes',
      ['Report', '', 'All prices in EUR', '2024-01-31', '', 'id|name|price', '1|Ann|2', '2|Bo|3'],
      6,
      ['id', 'name', 'price'],
    ],
    [
      'is below pairs of names and values',
      ['Author|Ann', 'Date|2024-01-31', '', 'id|name|price|sold|day', '1|x|2|3|4', '2|y|3|4|5'],
      4,
      ['id', 'name', 'price', 'sold', 'day'],
    ],
    ['may lack a name', ['|name|price', '0|Ann|2.5', '1|Bob|3'], 1, ['', 'name', 'price']],
    ['may be years', ['|2010|2011|2016', 'North|1|2|3', 'South|4|5|6'], 1, ['', '2010', '2011', '2016']],
  ])('%s', (_, lines, line, names) => {
    expect(find(...lines)).toEqual({ line, headerRows: 1, names, hasUnits: false });
  });

  it.each<[string, string[], number]>([
    ['rows of numbers', ['1|2|3', '4|5|6'], 1],
    ['rows like each other', ['Ann|2024-01-31|5', 'Bob|2024-02-01|6', 'Cy|2024-02-02|7'], 1],
    ['rows below a title', ['Report', 'Ann|2024-01-31|5', 'Bob|2024-02-01|6'], 2],
    ['a first row of one number', ['1', '2|3|4', '5|6|7'], 1],
  ])('is absent from %s', (_, lines, line) => {
    expect(find(...lines)).toMatchObject({ line, headerRows: 0, names: null });
  });

  it('keeps names that are too few for the rows, so that the misfit is reported', () => {
    expect(find('Report', 'id|name', '1|2|3|4|5', '6|7|8|9|10')).toMatchObject({
      line: 2,
      names: ['id', 'name'],
    });
  });

  it('is not detected in a list with a few remarks', () => {
    const lines = ['alpha', 'beta|see note', 'gamma', 'delta', 'epsilon', 'zeta'];
    expect(find(...lines)).toMatchObject({ line: 1 });
  });
});

describe('a header of two rows', () => {
  it('is combined if each row names columns that the other does not', () => {
    expect(find('Name|Id|Scores||', '||Math|Art|PE', 'Ann|1|2|3|4', 'Bob|2|3|4|5')).toMatchObject({
      line: 1,
      headerRows: 2,
      names: ['Name', 'Id', 'Math', 'Art', 'PE'],
    });
  });

  it('distinguishes repeated names by their groups, even if these are years', () => {
    expect(find('Sales', '|2023||2024|', '|Q1|Q2|Q1|Q2', 'North|1|2|3|4', 'South|5|6|7|8')).toMatchObject({
      line: 2,
      headerRows: 2,
      names: ['', '2023 Q1', '2023 Q2', '2024 Q1', '2024 Q2'],
    });
  });

  it.each<[string, string[]]>([
    ['a first row with an empty cell', ['id|name|note', '1||x', '2|Bob|y']],
    [
      'a first row of texts with empty cells',
      ['city|mayor|note', 'Rome||old', 'Oslo|Ann|cold', 'Bern|Bo|wet'],
    ],
  ])('is not detected in %s', (_, lines) => {
    expect(find(...lines)).toMatchObject({ line: 1, headerRows: 1 });
  });
});

describe('a row of units', () => {
  it.each<[string, boolean]>([
    ['|kg|cm', true],
    ['Unit|(kg)|[cm]', true],
    ['Unit|%|°C', true],
    ['Ann|kg|cm', false],
    ['|heavy|tall', false],
    ['|-|-', false],
  ])('%s: %s', (row, hasUnits) => {
    expect(find('name|weight|height', row, 'Ann|60|170', 'Bob|80|180')).toMatchObject({ hasUnits });
  });

  it('is not detected above text', () => {
    expect(find('size|colour', 'm|l', 's|red', 'l|blue')).toMatchObject({ hasUnits: false });
  });
});
