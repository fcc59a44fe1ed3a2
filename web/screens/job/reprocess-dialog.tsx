// Asks before rows are run again: how many, what it may cost, and whether those are taken along that would fail again.
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { say, sayError } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import { formatCost, formatCount } from '../../lib/format.ts';
import { costPerRow, type Job } from '../../lib/job.ts';
import { leftOutWords } from './left-out-words.ts';
import { type ReprocessRequest, useReprocessPreview } from './use-reprocess-preview.ts';

export interface Reprocess {
  /** What is run again, as the end of "Run … again?" */
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
  const request = { ...reprocess.request, includePermanent, resetAttempts };
  const preview = useReprocessPreview(job, request);
  const rows = preview?.selected;
  const words = rows === undefined ? 'rows' : `${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}`;
  const leftOut = preview && leftOutWords(preview.leftOut);
  const each = costPerRow(job);
  const run = async () => {
    setBusy(true);
    try {
      const { selected, leftOut: left } = await client.reprocessJob({
        jobId,
        ...request,
        ifGeneration: generation,
      });
      const others = leftOutWords(left);
      say(
        `${formatCount(selected)} ${selected === 1 ? 'row runs' : 'rows run'} again${others === null ? '' : `. ${others}`}`,
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
            ? 'No row would run.'
            : `${words} ${rows === 1 ? 'runs' : 'run'} again with the present version of the pipeline, as run ${generation + 1} of this job. Results so far stay until there is a new one.`}{' '}
        {leftOut}
      </p>
      <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">
        {each === null
          ? 'Every row is a paid call again if your pipeline pays for calls; this job has told no costs so far.'
          : rows === undefined
            ? `A row of this job has cost ${formatCost(each)} on average.`
            : `It may cost about ${formatCost(each * rows)}: a row of this job has cost ${formatCost(each)} on average.`}
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
        <Button kind="primary" disabled={isBusy || rows === 0} onClick={() => void run()}>
          Run {words} again
        </Button>
      </div>
    </div>
  );
}
