import { describe, expect, it } from 'vitest';
import { chosenFormat, downloadFormats, excelDelimiter, keepFormat } from './download-formats.ts';

const csv = (delimiter: string) => ({ detected: { format: 'csv', csv: { delimiter } } });

describe('formats of a download', () => {
  it('writes CSV for Excel with semicolons if the file or the language asks for them', () => {
    expect(excelDelimiter(csv(';'), 'en-US')).toBe(';');
    expect(excelDelimiter(csv(','), 'de-DE')).toBe(';');
    expect(excelDelimiter(csv(','), 'en-US')).toBe(',');
    expect(excelDelimiter(null, 'en-GB')).toBe(',');
    const excel = downloadFormats(null, 'de')[1]!;
    expect(excel.query).toEqual({ format: 'csv', bom: 'true', delimiter: ';' });
  });

  it('remembers the last choice, and starts with CSV', () => {
    const kept = new Map<string, string>();
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
    };
    const formats = downloadFormats(null, 'en');
    expect(chosenFormat(storage, formats).formatId).toBe('csv');
    keepFormat(storage, formats[2]!);
    expect(chosenFormat(storage, formats).formatId).toBe('xlsx');
  });
});
