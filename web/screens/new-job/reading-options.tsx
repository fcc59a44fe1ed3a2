// Detected file format, encoding and layout, each of which can be overridden.
import { TriangleAlert } from 'lucide-react';
import { TextField } from '../../components/field.tsx';
import { SelectField } from '../../components/select-field.tsx';
import type { Preview } from './column-choices.ts';
import type { FormatOptions } from './use-preview.ts';

export interface ReadingOptionsProps {
  detected: Preview['detected'];
  format: FormatOptions;
  /** The header row and the sheet are chosen among the first rows. */
  hasTop: boolean;
  onChange: (format: FormatOptions) => void;
}

const FORMATS = [
  ['csv', 'CSV'],
  ['xlsx', 'Excel'],
  ['jsonl', 'JSON Lines'],
  ['json', 'JSON array'],
  ['urls', 'List of URLs'],
  ['images', 'Images'],
] as const;

const ENCODINGS = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'windows-1252',
  'iso-8859-1',
  'iso-8859-15',
  'windows-1250',
  'windows-1251',
  'shift_jis',
  'gb18030',
];

const DELIMITERS = [
  [',', 'Comma ,'],
  [';', 'Semicolon ;'],
  ['\t', 'Tab'],
  ['|', 'Pipe |'],
  [' ', 'Spaces'],
  ['', 'None (single column)'],
] as const;

const AUTO = '\0auto';

interface CsvDetected {
  encoding?: string;
  delimiter?: string;
}

export function ReadingOptions({ detected, format, hasTop, onChange }: ReadingOptionsProps) {
  const csv = (detected.csv ?? {}) as CsvDetected;
  const table = (detected.table ?? {}) as { header?: boolean; skipLines?: number };
  const encoding = csv.encoding ?? (detected.encoding as string | undefined);
  const isCsv = detected.format === 'csv';
  const isTable = !hasTop && detected.table !== undefined;
  const set = <Key extends keyof FormatOptions>(key: Key, value: FormatOptions[Key] | undefined) => {
    const { [key]: _, ...rest } = format;
    onChange(value === undefined ? rest : { ...rest, [key]: value });
  };
  const chosen = (key: keyof FormatOptions): string =>
    format[key] === undefined ? AUTO : String(format[key]);
  const auto = (words: string): readonly [string, string] => [AUTO, `${words} (auto)`];
  return (
    <div className="flex flex-col gap-3">
      <div className="grid grid-cols-2 gap-3 md:grid-cols-5">
        <SelectField
          label="Format"
          value={chosen('format')}
          onChange={({ target }) => set('format', read(target.value) as FormatOptions['format'])}
          choices={[auto(wordsOf(FORMATS, detected.format)), ...FORMATS]}
        />
        {encoding !== undefined && (
          <SelectField
            label="Encoding"
            value={chosen('encoding')}
            onChange={({ target }) => set('encoding', read(target.value))}
            choices={[auto(encoding), ...ENCODINGS.map((name) => [name, name] as const)]}
          />
        )}
        {isCsv && (
          <SelectField
            label="Delimiter"
            value={chosen('delimiter')}
            onChange={({ target }) => set('delimiter', read(target.value))}
            choices={[auto(wordsOf(DELIMITERS, csv.delimiter ?? '')), ...DELIMITERS]}
          />
        )}
        {isTable && (
          <SelectField
            label="First row is"
            value={chosen('header')}
            onChange={({ target }) =>
              set('header', target.value === AUTO ? undefined : target.value === 'true')
            }
            choices={[
              auto(table.header === false ? 'Data' : 'Column names'),
              ['true', 'Column names'],
              ['false', 'Data'],
            ]}
          />
        )}
        {isTable && (
          <TextField
            key={format.skipLines ?? table.skipLines ?? 0}
            label="Skip rows at top"
            type="number"
            min={0}
            max={1000}
            defaultValue={format.skipLines ?? table.skipLines ?? 0}
            onBlur={({ target }) => {
              const lines = Number(target.value);
              if (lines !== (format.skipLines ?? table.skipLines ?? 0)) set('skipLines', lines);
            }}
          />
        )}
      </div>
      {detected.warnings.length > 0 && (
        <ul className="flex flex-col gap-1">
          {detected.warnings.map((warning) => (
            <li key={warning} className="flex gap-2 rounded-md bg-warn-soft px-3 py-2 text-warn">
              <TriangleAlert size={16} className="mt-0.5 shrink-0" aria-hidden /> {warning}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function read(value: string): string | undefined {
  return value === AUTO ? undefined : value;
}

function wordsOf(choices: readonly (readonly [string, string])[], value: string): string {
  return choices.find(([each]) => each === value)?.[1] ?? JSON.stringify(value);
}
