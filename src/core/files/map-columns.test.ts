import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mapColumns } from './map-columns.ts';
import type { RowmillError } from '../errors/rowmill-error.ts';

const keys = (...args: Parameters<typeof mapColumns>) =>
  mapColumns(...args).columns.map((column) => column && `${column.header}>${column.key}`);
const sku = { name: 'sku', required: true };
const quantity = { name: 'quantity', required: true };
const note = { name: 'note', required: false };

describe('columns of a file', () => {
  it.each([
    ['exact names', ['sku', 'quantity'], ['sku>sku', 'quantity>quantity']],
    ['case, blanks and punctuation', ['SKU ', 'Quan-tity'], ['SKU >sku', 'Quan-tity>quantity']],
    ['other columns keep their names', ['id', 'Sku', 'QUANTITY'], ['id>id', 'Sku>sku', 'QUANTITY>quantity']],
    [
      'an exact name before a similar one',
      ['SKU', 'sku', 'quantity'],
      ['SKU>SKU', 'sku>sku', 'quantity>quantity'],
    ],
    ['optional fields may be missing', ['sku', 'quantity', 'x'], ['sku>sku', 'quantity>quantity', 'x>x']],
  ])('are found by name: %s', (_, headers, expected) => {
    expect(keys(headers, [sku, quantity, note])).toEqual(expected);
  });

  it.each([
    ['Straße', 'strasse'],
    ['Größe', 'groesse'],
    ['Größe', 'grosse'],
    ['Prénom', 'prenom'],
    ['Año', 'ano'],
    ['Smørrebrød', 'smorrebrod'],
    ['Łódź', 'lodz'],
    ['STRASSE', 'straße'],
    ['Cafe\u0301', 'café'],
  ])('are found without accents: %s for %s', (header, name) => {
    expect(keys([header], [{ name, required: true }])).toEqual([`${header}>${name}`]);
  });

  it.each([
    ['Straße', 'street'],
    ['PLZ', 'zip_code'],
    ['Postleitzahl', 'postcode'],
    ['Artikel-Nr.', 'sku'],
    ['Précio', 'price'],
    ['Código postal', 'postalCode'],
    ['Téléphone', 'phone'],
    ['Währung', 'currency'],
    ['E-Mail-Adresse', 'email'],
  ])('are found by synonym: %s for %s', (header, name) => {
    expect(keys([header], [{ name, required: true }])).toEqual([`${header}>${name}`]);
  });

  it('are never guessed if two columns or two fields could match', () => {
    const city = { name: 'city', required: false };
    const town = { name: 'town', required: false };
    expect(mapColumns(['Ort', 'Ville'], [city])).toMatchObject({ unmapped: ['city'] });
    expect(mapColumns(['Ort'], [city, town])).toMatchObject({ unmapped: ['city', 'town'] });
    expect(mapColumns(['Sku', 'S K U'], [{ ...sku, required: false }])).toMatchObject({ unmapped: ['sku'] });
    const error = catchError(() => mapColumns(['Ort', 'Ville'], [{ ...city, required: true }]));
    expect(error.message).toContain('expected a column for city (did you mean "Ort"?)');
    expect(keys(['Ort', 'Ville'], [city], { city: 'ville' })).toEqual(['Ort>Ort', 'Ville>city']);
  });

  it('are matched by name before synonyms', () => {
    expect(keys(['Ort', 'city'], [{ name: 'city', required: true }])).toEqual(['Ort>Ort', 'city>city']);
    expect(mapColumns(['sku'], [sku, note]).unmapped).toEqual(['note']);
  });

  it('can be mapped by hand, even against their names', () => {
    expect(keys(['Artikel', 'sku', 'Menge'], [sku, quantity], { sku: 'Artikel', quantity: 'menge' })).toEqual(
      ['Artikel>sku', 'sku>sku_2', 'Menge>quantity'],
    );
  });

  it('that are required but missing refuse the file, with near misses as suggestions', () => {
    const error = catchError(() => mapColumns(['sku', 'Quantiy', 'price'], [sku, quantity]));
    expect(error.code).toBe('COLUMNS_MISSING');
    expect(error.message).toContain('expected a column for quantity (did you mean "Quantiy"?)');
    expect(error.hint).toContain('--map quantity="Quantiy"');
    expect(catchError(() => mapColumns(['Quantiy'], [sku, quantity])).hint).toContain(
      '--map sku=<column> --map quantity="Quantiy"',
    );
    expect(catchError(() => mapColumns(['a'], [sku])).message).toBe(
      'expected a column for sku; the file has "a"',
    );
  });

  it('that a person maps must exist, and so must the field', () => {
    expect(catchError(() => mapColumns(['a'], [sku], { sku: 'b' })).code).toBe('COLUMNS_MISSING');
    const error = catchError(() => mapColumns(['a'], [sku], { skus: 'a' }));
    expect(error.code).toBe('FILE_OPTION_INVALID');
    expect(error.message).toContain('did you mean sku?');
  });

  it('with hostile, empty or repeated names get unique keys', () => {
    expect(keys(['__proto__', 'a', 'a', '', 'a_2', ' ', 'x\0y', 'constructor'], null)).toEqual([
      '__proto__>__proto__',
      'a>a',
      'a>a_2',
      '>column_4',
      'a_2>a_2_2',
      ' >column_6',
      'x\ufffdy>x\ufffdy',
      'constructor>constructor',
    ]);
  });

  it('written by Rowmill are not stored', () => {
    const { columns, ignored } = mapColumns(['sku', 'rowmill_error', 'rowmill_status'], null);
    expect(columns).toEqual([{ key: 'sku', header: 'sku' }, null, null]);
    expect(ignored).toEqual(['rowmill_error', 'rowmill_status']);
  });

  it('always have unique keys', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'A', 'a_2', '', 'sku', 'b ', '\0'), { maxLength: 12 }),
        (headers) => {
          const found = mapColumns(headers, [{ name: 'sku', required: false }]).columns.map(
            (column) => column!.key,
          );
          expect(new Set(found).size).toBe(headers.length);
        },
      ),
    );
  });
});

function catchError(work: () => unknown): RowmillError {
  try {
    work();
  } catch (error) {
    return error as RowmillError;
  }
  throw new Error('expected an error');
}
