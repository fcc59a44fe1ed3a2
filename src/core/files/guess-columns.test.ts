import { describe, expect, it } from 'vitest';
import { guessColumns } from './guess-columns.ts';

const required = (...names: string[]) => names.map((name) => ({ name, required: true }));
const guess = (
  headers: string[],
  fields: { name: string; required: boolean }[],
  fits: Record<string, (number | null)[]> = {},
) =>
  Object.fromEntries(
    guessColumns(headers, fields, new Set(), (field, column) => fits[field]?.[column] ?? null),
  );

describe('columns for fields without one', () => {
  it.each([
    ['a longer name', 'Company name', 'name'],
    ['a longer field', 'name', 'company_name'],
    ['a synonym among other words', 'Company website', 'url'],
    ['a synonym of two words', 'Billing postal code', 'zip'],
    ['camel case', 'billingCountry', 'country'],
    ['accents', 'Größe des Teams', 'groesse'],
  ])('are likely by %s, if the values fit', (_, header, field) => {
    expect(guess([header], required(field), { [field]: [1] })).toEqual({
      [field]: { column: 0, confidence: 'likely' },
    });
    expect(guess([header], required(field))).toMatchObject({ [field]: { confidence: 'guess' } });
    expect(guess([header], required(field), { [field]: [0.2] })).toEqual({});
  });

  it('are guessed by a misspelt name', () => {
    expect(guess(['Employes'], required('employees'), { employees: [1] })).toEqual({
      employees: { column: 0, confidence: 'guess' },
    });
    expect(guess(['Notes'], required('employees'), { employees: [1] })).toEqual({});
  });

  it('with equal names are chosen by their values, and by nothing if those are equal too', () => {
    const headers = ['Name of contact', 'Name of company'];
    expect(guess(headers, required('name'), { name: [0.5, 0.9] })).toMatchObject({ name: { column: 1 } });
    expect(guess(headers, required('name'), { name: [1, 1] })).toEqual({});
  });

  it('are guessed by values alone if only one fits a required field that refuses others', () => {
    const fits = { email: [0, 0.1, 1] };
    expect(guess(['a', 'b', 'c'], required('email'), fits)).toEqual({
      email: { column: 2, confidence: 'guess' },
    });
    expect(guess(['a', 'b', 'c'], [{ name: 'email', required: false }], fits)).toEqual({});
    expect(guess(['a', 'b', 'c'], required('text'), { text: [1, 1, 1] })).toEqual({});
    expect(guess(['a'], required('text'), { text: [1] })).toEqual({});
  });

  it('go to one field only, and to required fields first', () => {
    const fields = [{ name: 'name', required: false }, ...required('company_name')];
    expect(guess(['Company'], fields, { name: [1], company_name: [1] })).toEqual({
      company_name: { column: 0, confidence: 'likely' },
    });
    expect(guess(['rowmill_error'], required('error'))).toEqual({});
  });
});
