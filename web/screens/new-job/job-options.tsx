// Name, test run, budget, priority and start of a new job.
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
        hint="Shown in the job list"
        placeholder={suggestedName}
        maxLength={200}
        value={options.name}
        onChange={({ target }) => onChange({ name: target.value })}
      />
      <TextField
        label="Test run"
        hint="Run this many rows first, then wait for your OK. Leave empty to run all."
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
            label="Job budget"
            hint="Pauses before exceeding this amount. Leave empty for no limit."
            type="number"
            min={0}
            step="any"
            placeholder="no limit"
            error={problems.budgetMax}
            value={options.budgetMax}
            onChange={({ target }) => onChange({ budgetMax: target.value })}
          />
          <TextField
            label="Per-row budget"
            hint="Rows that would cost more are marked failed."
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
        hint="Higher runs first (default 0)"
        type="number"
        step={1}
        placeholder="0"
        error={problems.priority}
        value={options.priority}
        onChange={({ target }) => onChange({ priority: target.value })}
      />
      <div className="flex flex-col gap-3 sm:pt-6">
        <CheckField
          label="Don't start yet"
          hint="Upload now, start later."
          checked={options.hold}
          onChange={({ target }) => onChange({ hold: target.checked })}
        />
        <CheckField
          label="Run this file again"
          hint="Otherwise we'll open the existing job for this file."
          checked={options.again}
          onChange={({ target }) => onChange({ again: target.checked })}
        />
      </div>
    </div>
  );
}
