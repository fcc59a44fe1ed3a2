// Name, trial, budget, and when it begins.
import { CheckField } from '../../components/check-field.tsx';
import { TextField } from '../../components/field.tsx';
import type { JobOptionTexts } from './read-job-options.ts';

export interface JobOptionsProps {
  options: JobOptionTexts;
  problems: Readonly<Record<string, string>>;
  suggestedName: string;
  isPaid: boolean;
  onChange: (change: Partial<JobOptionTexts>) => void;
}

export function JobOptions({ options, problems, suggestedName, isPaid, onChange }: JobOptionsProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField
        label="Name"
        hint="How you will find it in the list."
        placeholder={suggestedName}
        maxLength={200}
        value={options.name}
        onChange={({ target }) => onChange({ name: target.value })}
      />
      <TextField
        label="Try the first rows"
        hint="So many rows run; the rest waits until you have looked at them. Empty: all rows run."
        type="number"
        min={1}
        step={1}
        placeholder="all"
        error={problems.trial}
        value={options.trial}
        onChange={({ target }) => onChange({ trial: target.value })}
      />
      {isPaid && (
        <>
          <TextField
            label="Budget of the job"
            hint="It pauses before it costs more than this. Empty: no limit."
            type="number"
            min={0}
            step="any"
            placeholder="no limit"
            error={problems.budgetMax}
            value={options.budgetMax}
            onChange={({ target }) => onChange({ budgetMax: target.value })}
          />
          <TextField
            label="Budget of a row"
            hint="A row that would cost more fails."
            type="number"
            min={0}
            step="any"
            placeholder="no limit"
            error={problems.budgetPerItem}
            value={options.budgetPerItem}
            onChange={({ target }) => onChange({ budgetPerItem: target.value })}
          />
        </>
      )}
      <TextField
        label="Priority"
        hint="Jobs with a higher number go first. Usually 0."
        type="number"
        step={1}
        placeholder="0"
        error={problems.priority}
        value={options.priority}
        onChange={({ target }) => onChange({ priority: target.value })}
      />
      <div className="flex flex-col gap-3 sm:pt-6">
        <CheckField
          label="Hold it"
          hint="The rows are stored; nothing runs before you resume the job."
          checked={options.hold}
          onChange={({ target }) => onChange({ hold: target.checked })}
        />
        <CheckField
          label="A new job even if this file has one"
          hint="Otherwise the same file again leads to the job it has."
          checked={options.again}
          onChange={({ target }) => onChange({ again: target.checked })}
        />
      </div>
    </div>
  );
}
