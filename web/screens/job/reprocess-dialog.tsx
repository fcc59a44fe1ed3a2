// Asks before rows are retried or rerun: how many run, the estimated cost, and whether to include rows that would fail
// again.
import { useState } from 'react';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { say, sayError } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import { formatCount } from '../../lib/format.ts';
import { costPerRow, type Job } from '../../lib/job.ts';
import { leftOutWords } from './left-out-words.ts';
import { type ReprocessRequest, useReprocessPreview } from './use-reprocess-preview.ts';

export interface Reprocess {
  /** Retry for unsuccessful rows, rerun for any rows. */
  verb: 'Retry' | 'Rerun';
  /** The rows, as in "Retry … ?": "3 rows with this error". */
  what: string;
  request: ReprocessRequest;
}

export interface ReprocessDialogProps {
  job: Job;
  reprocess: Reprocess | null;
  onClose: () => void;
  onDone?: () => void;
}

export function ReprocessDialog({ job, reprocess, onClose, onDone }: ReprocessDialogProps) {
  return (
    <Dialog
      open={reprocess !== null}
      onClose={onClose}
      title={reprocess ? `${reprocess.verb} ${reprocess.what}?` : ''}
    >
      {reprocess && <Question job={job} reprocess={reprocess} onClose={onClose} onDone={onDone} />}
    </Dialog>
  );
}

interface QuestionProps {
  job: Job;
  reprocess: Reprocess;
  onClose: () => void;
  onDone: (() => void) | undefined;
}

function Question({ job, reprocess, onClose, onDone }: QuestionProps) {
  // Rows selected one by one are all meant, whatever their status.
  const isNamed = reprocess.request.scope === 'items';
  const [includePermanent, setPermanent] = useState(isNamed);
  const [resetAttempts, setReset] = useState(isNamed);
  const [isBusy, setBusy] = useState(false);
  const { jobId, generation } = job;
  const { verb } = reprocess;
  const doing = verb === 'Retry' ? 'Retrying' : 'Rerunning';
  const request = { ...reprocess.request, includePermanent, resetAttempts };
  const preview = useReprocessPreview(job, request);
  const rows = preview?.selected;
  const words = rows === undefined ? 'rows' : `${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}`;
  const leftOut = preview && leftOutWords(verb, preview.leftOut);
  const each = costPerRow(job);
  const run = async () => {
    setBusy(true);
    try {
      const { selected, leftOut: left } = await client.reprocessJob({
        jobId,
        ...request,
        ifGeneration: generation,
      });
      const others = leftOutWords(verb, left);
      say(
        `${doing} ${formatCount(selected)} ${selected === 1 ? 'row' : 'rows'}${others === null ? '' : `. ${others}`}`,
      );
      onDone?.();
      onClose();
    } catch (error) {
      sayError(error);
    }
    setBusy(false);
    await queries.invalidateQueries({ queryKey: ['job', jobId] });
  };
  return (
    <div className="flex flex-col gap-4">
      <p role="status" className="text-muted">
        {rows === undefined
          ? 'Counting the rows…'
          : rows === 0
            ? 'No rows will run.'
            : `${words} will run with the current pipeline version (run ${generation + 1}). Existing results stay until replaced.`}{' '}
        {leftOut}
      </p>
      <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">
        {each === null
          ? `${doing} may incur cost (none reported so far).`
          : rows === undefined
            ? `Estimated cost: ${formatCost(each, job.costUnit)} per row.`
            : `Estimated cost ≈ ${formatCost(each * rows, job.costUnit)} (${formatCost(each, job.costUnit)} per row).`}
      </p>
      <CheckField
        label="Include permanent failures"
        hint="Invalid input, or rejected by the pipeline: they fail again unless the pipeline changed."
        checked={includePermanent}
        onChange={(event) => setPermanent(event.target.checked)}
      />
      <CheckField
        label="Include rows over the retry limit"
        hint="Left out by default to avoid wasted cost."
        checked={resetAttempts}
        onChange={(event) => setReset(event.target.checked)}
      />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" disabled={isBusy || rows === 0} onClick={() => void run()}>
          {verb} {words}
        </Button>
      </div>
    </div>
  );
}
