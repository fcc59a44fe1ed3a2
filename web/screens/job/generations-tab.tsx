// The runs of a job: their rows, their results and the difference to the run before.
import { useQuery } from '@tanstack/react-query';
import { Columns2 } from 'lucide-react';
import type { Answered } from '../../../src/client/route-call.ts';
import type { Routes } from '../../../src/contract/routes.ts';
import type { GenerationDiff } from '../../../src/core/jobs/generation-diff.ts';
import { Button } from '../../components/button.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { OutcomeChip, StatusChip, statusWord } from '../../components/status-chip.tsx';
import { client } from '../../lib/client.ts';
import { selectionWords } from '../../lib/detail-words.ts';
import { formatCount } from '../../lib/format.ts';
import type { Job } from '../../lib/job.ts';
import { FailedScreen } from '../failed-screen.tsx';
import { ChangeTiles } from './compare/change-tiles.tsx';
import { CompareRuns } from './compare/compare-runs.tsx';
import { useJobSearch } from './use-job-search.ts';

type Generation = Answered<Routes['listGenerations']>['items'][number];

export function GenerationsTab({ job }: { job: Job }) {
  const { jobId } = job;
  const [{ runFrom, runTo }] = useJobSearch();
  const generations = useQuery({
    queryKey: ['job', jobId, 'generations'],
    queryFn: ({ signal }) => client.listGenerations({ jobId }, { signal }),
  });
  if (generations.isError && !generations.data) return <FailedScreen error={generations.error} />;
  if (!generations.data) return <p className="text-muted">Loading…</p>;
  return (
    <div className="flex flex-col gap-3">
      {runTo !== undefined && runTo > 1 && <CompareRuns job={job} from={runFrom ?? runTo - 1} to={runTo} />}
      <ol aria-label="Runs" className="flex flex-col gap-3">
        {generations.data.items.map((generation) => (
          <Run
            key={generation.generation}
            run={generation}
            isNewest={generation.generation === generations.data.items[0]?.generation}
          />
        ))}
      </ol>
    </div>
  );
}

function Run({ run, isNewest }: { run: Generation; isNewest: boolean }) {
  const { generation, selected, selection, leftOut, openedAt, finishedAt, state, outcome, counts } = run;
  const diff = run.diff as GenerationDiff | null;
  const total = Object.values(counts ?? {}).reduce((sum, count) => sum + count, 0);
  // The rows were skipped as a group: nothing ran.
  const isSkip = selection !== null && typeof selection === 'object' && 'skipped' in selection;
  const [, change] = useJobSearch();
  const compare = () => change({ runFrom: generation - 1, runTo: generation, change: undefined }, false);
  const left = Object.entries(leftOut).filter(([, count]) => count > 0);
  return (
    <li className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 className="font-semibold">Run {generation}</h2>
        <StatusChip status={state ?? (isNewest ? 'RUNNING' : 'CONTINUED')} />
        <OutcomeChip state={state} outcome={outcome} />
        <span className="text-muted tabular-nums">
          {formatCount(selected)} {selected === 1 ? 'row' : 'rows'}{' '}
          {generation > 1 && (isSkip ? 'skipped' : 'rerun')}
        </span>
        {generation > 1 && (
          <Button size="small" onClick={compare}>
            <Columns2 size={14} aria-hidden /> Compare with run {generation - 1}
          </Button>
        )}
        <span className="ml-auto text-[13px] text-muted">
          started <RelativeTime at={openedAt} />
          {finishedAt !== null && (
            <>
              , finished <RelativeTime at={finishedAt} />
            </>
          )}
        </span>
      </div>
      {diff && (
        <ChangeTiles
          counts={{
            fixed: diff.fixed,
            newlyFailed: diff.newlyFailed,
            newlyNotFound: diff.newlyNotFound,
            changed: diff.otherResult,
            same: diff.unchanged - diff.otherResult,
            added: diff.added,
          }}
          from={generation - 1}
          to={generation}
        />
      )}
      {counts && total > 0 && (
        <div className="flex flex-col gap-1">
          <ProgressBar counts={counts} total={total} />
          <p className="flex flex-wrap gap-x-4 text-[13px] text-muted tabular-nums">
            <span>Totals after this run:</span>
            {Object.entries(counts)
              .filter(([, count]) => count > 0)
              .map(([status, count]) => (
                <span key={status}>
                  {statusWord(status)} {formatCount(count)}
                </span>
              ))}
          </p>
        </div>
      )}
      {(left.length > 0 || Object.keys(selection ?? {}).length > 0) && (
        <p className="flex flex-wrap gap-x-4 text-[13px] text-muted">
          {Object.keys(selection ?? {}).length > 0 && (
            <span className="break-words">Selection: {selectionWords(selection).join(' · ')}</span>
          )}
          {left.map(([why, count]) => (
            <span key={why}>
              {formatCount(count)} left out ({LEFT_OUT_WORDS[why] ?? why})
            </span>
          ))}
        </p>
      )}
    </li>
  );
}

const LEFT_OUT_WORDS: Record<string, string> = {
  permanent: 'would fail again',
  exhausted: 'over the retry limit',
};
