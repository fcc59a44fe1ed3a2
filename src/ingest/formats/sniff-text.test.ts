import { describe, expect, it } from 'vitest';
import { MANIFEST_LINE } from '../../core/items/image-rows.ts';
import { sniffText } from './sniff-text.ts';

const OBJECTS = '{"a":1}\n{"a":2}\n';

describe('a text is', () => {
  it.each([
    ['csv', 'a,b\n1,2\n'],
    ['csv', ''],
    ['csv', ' \n\n'],
    ['csv', '[id],[name]\n1,2\n'],
    ['csv', '{id};{name}\n1;2\n'],
    ['csv', 'url\nhttps://a.example/\nhttps://b.example/\n'],
    ['csv', 'https://a.example/,1\nhttps://b.example/,2\n'],
    ['csv', 'https://a.example/\t1\nhttps://b.example/\t2\n'],
    ['csv', '"BM",<b>\n'],
    ['csv', '<b>,2\n<i>,3\n'],
    ['csv', '"a"\n"b"\n'],
    ['csv', 'id,name\0\0\0\0\n1,Ann\0\0\0\n2,Bob\0\0\0\n'],
    ['jsonl', OBJECTS],
    ['jsonl', '{"a":1}'],
    ['jsonl', '{}\n{}\n'],
    ['jsonl', '{"a":\n{"a":2}\n'],
    ['jsonl', '{"rows":[{"a":1}],"page":1}'],
    ['jsonl', '{"rows":[{"a":1}]}\n{"rows":[{"a":2}]}\n'],
    ['json', '[{"a":1}]'],
    ['json', ' [\n  {\n'],
    ['json', '[]'],
    ['json', '[1, 2]'],
    ['json', '["a","b"]'],
    ['json', '[[1],[2]]'],
    ['json', '[\n[1],\n[2]\n]'],
    ['jsonl', '["a","b"]\n[1,2]\n'],
    ['csv', '[id],[name]\n1,2\n'],
    ['csv', '{guid},name\n{1},a\n'],
    ['csv', '// export of 2024\nid,name\n1,a\n'],
    ['csv', 'id,data\n1,"{""a"": 1}"\n2,"{""a"": 2}"\n'],
    ['csv', 'key: value\nother: thing\n'],
    ['urls', 'https://a.example/\nhttp://b.example/\n'],
    ['urls', '# list\n\nhttps://a.example/x,y\nhttps://b.example/\n'],
    ['urls', 'https://a.example/\nnonsense\nhttps://b.example/\n'],
    ['images', `${MANIFEST_LINE}\n{"file":"a"}\n`],
  ])('%s: %j', (kind, text) => {
    expect(sniffText(text, true)).toEqual({ kind });
  });

  it.each([
    ['{\n  "a": 1,\n  "b": 2\n}\n', 'one JSON object'],
    ['{\n  "a": 1\n}\n{\n  "a": 2\n}\n', 'one JSON object'],
    ['{"rows":[{"a":1},{"a":2}]}', 'a JSON object around the rows'],
    ['{ "data" : [ {"a":1} ] }\n', 'a JSON object around the rows'],
    ['<!DOCTYPE html><html><body><table>', 'an HTML page'],
    ['\n<html xmlns:x="urn:schemas-microsoft-com:office:excel">', 'an HTML page'],
    ['<table><tr><td>1', 'an HTML page'],
    [
      '<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?><Workbook>',
      'an Excel 2003 XML spreadsheet',
    ],
    ['<?xml version="1.0"?><rows/>', 'XML'],
    ['<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>', 'an SVG image'],
    ['\0\x01\x02\x03\x04binary\0\0\0', 'binary data'],
    ['a\0\0\0,\0\0\0b\0\0\0\n\0\0\0', 'text of which 75% are NUL characters'],
  ])('not read: %j', (text, found) => {
    expect(sniffText(text, true)).toEqual({
      kind: 'unsupported',
      found: expect.stringContaining(found),
      advice: expect.stringMatching(/\w/),
    });
  });
});

describe('broken JSON is not a table', () => {
  it.each([
    "{'a': 1, 'b': 2}\n{'a': 3, 'b': 4}\n",
    '{a: 1, b: 2}\n',
    "['a', 'b']\n",
    '[\n  undefined,\n  1\n]',
    'var rows = [{"a": 1}, {"a": 2}];',
    'callback([{"a": 1}])',
    ')]}\',\n[{"a": 1}]',
    '// rows\n[\n  {"a": 1}\n]',
    '  "a": 1,\n  "b": 2\n},\n{\n  "a": 3,\n  "b": 4\n}\n]',
  ])('%j', (text) => {
    expect(sniffText(text, true)).toMatchObject({ kind: 'unsupported', isBroken: true });
  });

  it('nor is it JSON lines because one of its lines is a whole object', () => {
    const lines = Array.from({ length: 32 }, (_, i) => `  "k${i}": ${i},\n  "l${i}": [`);
    const text = `{\n${lines.join('\n')}\n{"whole": 1}\n]}`;
    expect(sniffText(text, true)).toMatchObject({
      kind: 'unsupported',
      found: expect.stringContaining('one JSON object'),
    });
  });
});

describe('a sample that is cut', () => {
  it('does not judge by its last line', () => {
    expect(sniffText('{"a":1}\n{"a":', false)).toEqual({ kind: 'jsonl' });
    expect(sniffText('https://a.example/\nhttps://b.example/\nht', false)).toEqual({ kind: 'urls' });
  });

  it('of one long line is JSON lines, unless an object wraps the rows', () => {
    expect(sniffText(`{"a":"${'x'.repeat(1000)}`, false)).toEqual({ kind: 'jsonl' });
    expect(sniffText('{"rows": [{"a":1},{"a":', false)).toMatchObject({ kind: 'unsupported' });
  });
});
