// A form that edits the input of a row and reruns it.
import { type FormEvent, useState } from 'react';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { Button } from '../../components/button.tsx';
import { Field, inputClass } from '../../components/field.tsx';
import { actOnJob } from '../../lib/act-on-job.ts';
import { classNames } from '../../lib/class-names.ts';
import { client } from '../../lib/client.ts';
import { costPerRow, type ItemDetail, type Job } from '../../lib/job.ts';
import { editedInput, inputFields } from './edited-input.ts';

export interface ItemEditFormProps {
  job: Job;
  item: ItemDetail;
  onClose: () => void;
}

export function ItemEditForm({ job, item, onClose }: ItemEditFormProps) {
  const { jobId, generation } = job;
  const [fields, setFields] = useState(() =>
    inputFields(
      item.input,
      job.columns.map(({ key }) => key),
    ),
  );
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [isBusy, setBusy] = useState(false);
  if (!fields) return <p className="text-muted">Nothing to edit</p>;
  const run = async (event: FormEvent) => {
    event.preventDefault();
    const edited = editedInput(fields);
    setProblems(edited.problems ?? {});
    if (!edited.input) return;
    setBusy(true);
    const worked = await actOnJob(jobId, `Rerunning row ${item.row}`, () =>
      client.reprocessJob({
        jobId,
        scope: 'items',
        edits: [{ seq: item.seq, input: edited.input }],
        ifGeneration: generation,
      }),
    );
    setBusy(false);
    if (worked) onClose();
  };
  const each = costPerRow(job);
  return (
    <form
      onSubmit={(event) => void run(event)}
      className="flex flex-col gap-3 rounded-md border border-line p-3"
    >
      {fields.map(({ key, text, isJson }, at) => (
        <Field
          key={key}
          label={key}
          error={problems[key]}
          {...(isJson && problems[key] === undefined && { hint: 'JSON' })}
        >
          {(ids) => (
            <textarea
              {...ids}
              rows={Math.min(8, Math.max(1, text.split('\n').length))}
              className={classNames(inputClass, 'h-auto min-h-9 py-1.5', isJson && 'font-mono text-[13px]')}
              value={text}
              onChange={(event) => setFields(fields.with(at, { key, isJson, text: event.target.value }))}
            />
          )}
        </Field>
      ))}
      <p className="text-[13px] text-muted">
        Reruns only this row{each !== null && ` (≈ ${formatCost(each, job.costUnit)})`}. The original input is
        kept.
      </p>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={isBusy}>
          Save and rerun
        </Button>
      </div>
    </form>
  );
}
