// Edits one field in all rows of error groups and retries them, after a preview with the number of rows and the
// estimated cost.
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { formatCost } from '../../../../src/core/limits/format-cost.ts';
import type { Answered, Given } from '../../../../src/client/route-call.ts';
import type { Routes } from '../../../../src/contract/routes.ts';
import { Button } from '../../../components/button.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { FailureNote } from '../../../components/failure-note.tsx';
import { TextField } from '../../../components/field.tsx';
import { SelectField } from '../../../components/select-field.tsx';
import { say } from '../../../components/toasts.tsx';
import { cellText } from '../../../lib/cell-text.ts';
import { client, queries } from '../../../lib/client.ts';
import { formatCount } from '../../../lib/format.ts';
import { costPerRow } from '../../../lib/job.ts';
import { inputFields, JSON_HINT } from '../edited-input.ts';
import { rowNumber } from '../../../../src/contract/row-number.ts';
import { fieldChange } from './field-change.ts';
import { groupsRequest } from './group-selection.ts';
import { likelyField } from './likely-field.ts';
import type { GroupDialogProps } from './skip-group-dialog.tsx';

type Edit = Omit<Given<Routes['editErrors']>, 'jobId'>;
type Preview = Answered<Routes['previewErrorEdit']>;

export function EditGroupDialog({ job, groups, onClose }: GroupDialogProps) {
  const { jobId, generation } = job;
  const [planned, setPlanned] = useState<{ edit: Edit; preview: Preview } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const attempt = async (action: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    await action().catch(setError);
    setBusy(false);
  };
  const plan = (change: Edit['change']) =>
    attempt(async () => {
      const edit = { ...groupsRequest(groups), change, ifGeneration: generation };
      setPlanned({ edit, preview: await client.previewErrorEdit({ jobId, ...edit }) });
    });
  const run = (edit: Edit) =>
    attempt(async () => {
      const { selected, unchanged } = await client.editErrors({ jobId, ...edit });
      const rest = unchanged > 0 ? `; ${formatCount(unchanged)} unchanged` : '';
      say(`Retrying ${formatCount(selected)} edited ${selected === 1 ? 'row' : 'rows'}${rest}`);
      onClose();
      await queries.invalidateQueries({ queryKey: ['job', jobId] });
    });
  return (
    <Dialog open onClose={onClose} title="Edit a field and retry">
      <div className="flex flex-col gap-4">
        {planned ? (
          <Planned
            preview={planned.preview}
            each={costPerRow(job)}
            costUnit={job.costUnit}
            isBusy={isBusy}
            onBack={() => setPlanned(null)}
            onRun={() => void run(planned.edit)}
          />
        ) : (
          <ChangeForm
            job={job}
            groups={groups}
            isBusy={isBusy}
            onClose={onClose}
            onPlan={(change) => void plan(change)}
          />
        )}
        {error !== null && <FailureNote error={error} />}
      </div>
    </Dialog>
  );
}

interface ChangeFormProps extends GroupDialogProps {
  isBusy: boolean;
  onPlan: (change: Edit['change']) => void;
}

function ChangeForm({ job, groups, isBusy, onClose, onPlan }: ChangeFormProps) {
  const { jobId } = job;
  // The sample row of the first group provides the fields and their types.
  const group = groups[0]!;
  const sample = useQuery({
    queryKey: ['job', jobId, 'item', group.sampleSeq],
    queryFn: ({ signal }) => client.getItem({ jobId, seq: group.sampleSeq }, { signal }),
  });
  const [field, setField] = useState<string | null>(null);
  const [way, setWay] = useState<'set' | 'replace'>('set');
  const [problem, setProblem] = useState<string | undefined>();
  const columns = job.columns.map(({ key }) => key);
  const fields = inputFields(sample.data?.input ?? null, columns) ?? [];
  const names = fields.length > 0 ? fields.map(({ key }) => key) : columns;
  const chosen = field ?? likelyField(group.sample, fields) ?? names[0] ?? '';
  const known = fields.find(({ key }) => key === chosen);
  const isJson = known?.isJson ?? false;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const change = fieldChange(
      chosen,
      way === 'set'
        ? { to: String(form.get('to') ?? '') }
        : { find: String(form.get('find') ?? ''), replace: String(form.get('replace') ?? '') },
      isJson,
    );
    setProblem(change === null ? JSON_HINT : undefined);
    if (change) onPlan(change);
  };
  if (sample.isError) return <FailureNote error={sample.error} />;
  if (!sample.data) return <p className="text-muted">Loading…</p>;
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <SelectField
        label="Field"
        value={chosen}
        choices={names.map((name) => [name, name] as const)}
        onChange={({ target }) => setField(target.value)}
      />
      <SelectField
        label="Action"
        value={way}
        choices={[
          ['set', 'Set value'],
          ['replace', 'Find and replace'],
        ]}
        onChange={({ target }) => setWay(target.value as typeof way)}
      />
      {way === 'set' ? (
        <TextField
          key={chosen}
          label="New value"
          name="to"
          defaultValue={known?.text ?? ''}
          error={problem}
          {...(isJson && { hint: 'JSON', className: 'font-mono text-[13px]' })}
        />
      ) : (
        <>
          <TextField label="Find" name="find" required maxLength={1000} />
          <TextField label="Replace with" name="replace" maxLength={10_000} />
        </>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" disabled={isBusy || chosen === ''}>
          Preview
        </Button>
      </div>
    </form>
  );
}

interface PlannedProps {
  preview: Preview;
  /** Average cost of a row. */
  each: number | null;
  costUnit: string | null;
  isBusy: boolean;
  onBack: () => void;
  onRun: () => void;
}

function Planned({ preview, each, costUnit, isBusy, onBack, onRun }: PlannedProps) {
  const { rows, changed, more, samples } = preview;
  const words = `${formatCount(changed)} ${changed === 1 ? 'row' : 'rows'}`;
  return (
    <>
      <p>
        {changed === 0
          ? 'No rows will change.'
          : `${formatCount(changed)} of ${formatCount(rows)} rows will change.`}
        {changed > 0 && changed < rows && ' Other rows are unchanged and not retried.'}
        {more && ' Limit reached — repeat for the rest.'}
      </p>
      {samples.length > 0 && (
        <dl className="flex flex-col gap-2 rounded-md border border-line p-3 text-[13px]">
          {samples.map(({ seq, before, after }) => (
            <div key={seq} className="min-w-0">
              <dt className="text-muted">Row {formatCount(rowNumber(seq))}</dt>
              <dd className="m-0 break-words">
                <del className="text-bad">{cellText({ before }, 'before')}</del>{' '}
                <ins className="text-good">{cellText({ after }, 'after')}</ins>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {changed > 0 && (
        <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">
          {each === null
            ? 'Retrying may incur cost (none reported so far).'
            : `Estimated cost ≈ ${formatCost(each * changed, costUnit)} (${formatCost(each, costUnit)} per row).`}{' '}
          Original values are kept.
        </p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onBack}>Back</Button>
        <Button kind="primary" disabled={isBusy || changed === 0} onClick={onRun}>
          Apply and retry {words}
        </Button>
      </div>
    </>
  );
}
