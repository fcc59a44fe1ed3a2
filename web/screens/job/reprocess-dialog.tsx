// Asks before rows are run again: how many, what it may cost, and whether those are taken along that would fail again.
import { useState } from 'react';
import type { Given } from '../../../src/client/route-call.ts';
import type { Routes } from '../../../src/contract/routes.ts';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { say, sayError } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import { formatCost, formatCount } from '../../lib/format.ts';
import { costPerRow, type Job } from '../../lib/job.ts';

export interface Reprocess {
  /** What is run again, as the end of "Run … again?" */
  what: string;
  /** Null: as many as fit, which only the server knows. */
  rows: number | null;
  request: Omit<Given<Routes['reprocessJob']>, 'jobId' | 'ifGeneration'>;
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
      title={reprocess ? `Run ${reprocess.what} again?` : ''}
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
  // Rows that were named one by one are meant, whatever they ended in.
  const isNamed = reprocess.request.scope === 'items';
  const [includePermanent, setPermanent] = useState(isNamed);
  const [resetAttempts, setReset] = useState(isNamed);
  const [isBusy, setBusy] = useState(false);
  const { jobId, generation } = job;
  const { rows, request } = reprocess;
  const each = costPerRow(job);
  const isAtMost = !(includePermanent && resetAttempts) && rows !== 1;
  const run = async () => {
    setBusy(true);
    try {
      const { selected, leftOut } = await client.reprocessJob({
        jobId,
        ...request,
        includePermanent,
        resetAttempts,
        ifGeneration: generation,
      });
      const left = leftOut.permanent + leftOut.exhausted;
      say(
        `${formatCount(selected)} ${selected === 1 ? 'row runs' : 'rows run'} again${left > 0 ? `, ${formatCount(left)} were left out` : ''}`,
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
      <p className="text-muted">
        {rows === null
          ? 'All rows that fit are'
          : rows === 1
            ? 'One row is'
            : `${isAtMost ? 'At most ' : ''}${formatCount(rows)} rows are`}{' '}
        run again with the present version of the pipeline, as run {generation + 1} of this job. Results so
        far stay until there is a new one.
      </p>
      <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">
        {each === null
          ? 'Every row is a paid call again if your pipeline pays for calls; this job has told no costs so far.'
          : rows === null
            ? `A row of this job has cost ${formatCost(each)} on average.`
            : `It may cost ${isAtMost ? 'up to' : 'about'} ${formatCost(each * rows)}: a row of this job has cost ${formatCost(each)} on average.`}
      </p>
      <CheckField
        label="Also failures that are known to be permanent"
        hint="Rows with an invalid input, or that the pipeline gave up on for good."
        checked={includePermanent}
        onChange={(event) => setPermanent(event.target.checked)}
      />
      <CheckField
        label="Also rows that were tried very often already"
        hint="The server leaves them out otherwise, so that nobody pays for hopeless rows for ever."
        checked={resetAttempts}
        onChange={(event) => setReset(event.target.checked)}
      />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Go back</Button>
        <Button kind="primary" disabled={isBusy} onClick={() => void run()}>
          {rows === null || isAtMost
            ? 'Run them again'
            : `Run ${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'} again`}
        </Button>
      </div>
    </div>
  );
}
