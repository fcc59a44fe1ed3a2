import { describe, expect, test } from 'vitest';
import { editedInput, inputFields } from './edited-input.ts';

describe('an input in a form', () => {
  const input = { count: 5, sku: 'A-1', tags: ['x'], note: null, code: '007' };

  test('has its fields in the order of the file, and comes back as it was', () => {
    const fields = inputFields(input, ['sku', 'count', 'gone'])!;
    expect(fields.map(({ key }) => key)).toEqual(['sku', 'count', 'tags', 'note', 'code']);
    expect(editedInput(fields)).toEqual({ input, problems: null });
  });

  test('keeps texts that look like numbers texts', () => {
    const fields = inputFields(input, [])!.map((field) =>
      field.key === 'code' ? { ...field, text: '42' } : field,
    );
    expect(editedInput(fields).input).toMatchObject({ code: '42' });
  });

  test('reports fields with invalid JSON', () => {
    const fields = inputFields(input, [])!.map((field) =>
      field.key === 'count' ? { ...field, text: 'five' } : field,
    );
    expect(Object.keys(editedInput(fields).problems!)).toEqual(['count']);
  });

  test('may have a field called __proto__', () => {
    const fields = inputFields(JSON.parse('{"__proto__": "x"}'), [])!;
    expect(JSON.stringify(editedInput(fields).input)).toBe('{"__proto__":"x"}');
  });

  test('without fields has no form', () => {
    expect(inputFields('text', [])).toBeNull();
  });
});
