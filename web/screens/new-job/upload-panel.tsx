// How far the upload is, a way to stop it, and what to do when it failed.
import { Button } from '../../components/button.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { formatBytes, formatDuration, formatPercent } from '../../lib/format.ts';
import type { StartState } from './use-start-job.ts';

export interface UploadPanelProps {
  state: StartState;
  onCancel: () => void;
  onRetry: () => void;
}

export function UploadPanel({ state, onCancel, onRetry }: UploadPanelProps) {
  if (state.step === 'idle') return null;
  if (state.step === 'failed')
    return <FailureNote error={state.error} action={<Button onClick={onRetry}>Try again</Button>} />;
  const { sent, total } = state;
  const part = total === null || total === 0 ? 0 : sent / total;
  return (
    <div className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p role="status">{wordsOf(state)}</p>
        <Button size="small" onClick={onCancel}>
          Cancel
        </Button>
      </div>
      <div
        role="progressbar"
        aria-label="Upload"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(part * 100)}
        className="h-2 overflow-hidden rounded-full bg-quiet-soft"
      >
        <div className="h-full bg-accent" style={{ width: `${part * 100}%` }} />
      </div>
    </div>
  );
}

function wordsOf({ sent, total, startedMs }: Extract<StartState, { step: 'sending' }>): string {
  if (total === null) return 'Making the job…';
  if (sent >= total) return 'All bytes are there; the server stores them…';
  const elapsedMs = Date.now() - startedMs;
  const left = sent > 0 && elapsedMs > 1000 ? (elapsedMs / sent) * (total - sent) : null;
  const words = `Sending: ${formatPercent(sent / total)}, ${formatBytes(sent)} of ${formatBytes(total)}`;
  return left === null ? words : `${words}, about ${formatDuration(left)} left`;
}
