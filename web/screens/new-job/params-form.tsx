// Form fields for the parameters of a job, from the pipeline's schema.
import { CheckField } from '../../components/check-field.tsx';
import { Field, inputClass, TextField } from '../../components/field.tsx';
import { SelectField } from '../../components/select-field.tsx';
import { classNames } from '../../lib/class-names.ts';
import { type FormTexts, type SchemaField, textOf } from './schema-form.ts';

export interface ParamsFormProps {
  fields: readonly SchemaField[];
  texts: FormTexts;
  /** Shown after the first attempt to start. */
  problems: Readonly<Record<string, string>>;
  onChange: (name: string, text: string) => void;
}

export function ParamsForm({ fields, texts, problems, onChange }: ParamsFormProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      {fields.map((field) => (
        <ParamField
          key={field.name}
          field={field}
          text={texts[field.name] ?? field.initial}
          error={problems[field.name]}
          onChange={(text) => onChange(field.name, text)}
        />
      ))}
    </div>
  );
}

interface ParamFieldProps {
  field: SchemaField;
  text: string;
  error: string | undefined;
  onChange: (text: string) => void;
}

function ParamField({ field, text, error, onChange }: ParamFieldProps) {
  const { kind, title, description, required, choices, min, max } = field;
  const label = required ? title : `${title} (optional)`;
  const hint = description ?? undefined;
  if (kind === 'boolean')
    return (
      <CheckField
        label={title}
        {...(hint !== undefined && { hint })}
        checked={text === 'true'}
        onChange={({ target }) => onChange(String(target.checked))}
      />
    );
  if (kind === 'choice')
    return (
      <SelectField
        label={label}
        hint={hint}
        error={error}
        value={text}
        onChange={({ target }) => onChange(target.value)}
        choices={[
          ['', required ? 'Select…' : 'Default'],
          ...choices.map((choice) => [textOf(choice, kind), textOf(choice, kind)] as const),
        ]}
      />
    );
  if (kind === 'json')
    return (
      <Field label={label} hint={hint ?? 'JSON, e.g. ["a", "b"] or {"a": 1}'} error={error}>
        {(ids) => (
          <textarea
            {...ids}
            rows={3}
            value={text}
            onChange={({ target }) => onChange(target.value)}
            className={classNames(inputClass, 'h-auto py-1.5 font-mono text-[13px]')}
          />
        )}
      </Field>
    );
  return (
    <TextField
      label={label}
      hint={hint}
      error={error}
      type={kind === 'text' ? 'text' : 'number'}
      {...(kind === 'integer' ? { step: 1 } : kind === 'number' && { step: 'any' })}
      {...(min !== null && { min })}
      {...(max !== null && { max })}
      value={text}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
