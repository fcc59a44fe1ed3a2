// Progress of the upload, with pause, cancel and retry.
import { Pause, Play } from 'lucide-react';
import { Button } from '../../components/button.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { formatBytes, formatDuration, formatPercent } from '../../lib/format.ts';
import type { Sent, StartState } from './use-start-job.ts';

export interface UploadPanelProps {
  state: StartState;
  onPause: () => void;
  onResume: () => void;
  onCancel: () => void;
  onRetry: () => void;
}

export function UploadPanel({ state, onPause, onResume, onCancel, onRetry }: UploadPanelProps) {
  if (state.step === 'idle') return null;
  if (state.step === 'failed')
    return (
      <div className="flex flex-col gap-2">
        <FailureNote
          error={state.error}
          action={<Button onClick={onRetry}>{isPartial(state) ? 'Resume' : 'Try again'}</Button>}
        />
        {isPartial(state) && (
          <p className="text-[13px] text-muted">
            {sentWords(state)} already uploaded; we'll continue from there.
          </p>
        )}
      </div>
    );
  const { sent, total } = state;
  const part = total === null || total === 0 ? 0 : sent / total;
  return (
    <div className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-4">
      <div className="flex flex-wrap items-center gap-2">
        <p role="status" className="mr-auto">
          {state.step === 'paused' ? `Paused at ${sentWords(state)}` : wordsOf(state)}
        </p>
        {state.step === 'sending' && state.canPause && (
          <Button size="small" onClick={onPause}>
            <Pause size={14} aria-hidden /> Pause
          </Button>
        )}
        {state.step === 'paused' && (
          <Button size="small" kind="primary" onClick={onResume}>
            <Play size={14} aria-hidden /> Resume
          </Button>
        )}
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

const isPartial = ({ sent, total }: Sent): boolean => total !== null && sent > 0 && sent < total;

function sentWords({ sent, total }: Sent): string {
  return `${formatBytes(sent)} of ${formatBytes(total ?? 0)}`;
}

function wordsOf(state: Extract<StartState, { step: 'sending' }>): string {
  const { sent, total, startedMs, startedAt } = state;
  if (total === null) return 'Creating job…';
  if (state.isCut) return `Connection lost, retrying — ${sentWords(state)} uploaded`;
  if (sent >= total) return 'Upload complete, saving…';
  const elapsedMs = Date.now() - startedMs;
  // Bytes from before this attempt do not count towards its speed.
  const since = sent - startedAt;
  const left = since > 0 && elapsedMs > 1000 ? (elapsedMs / since) * (total - sent) : null;
  const words = `Uploading ${formatPercent(sent / total)}, ${sentWords(state)}`;
  return left === null ? words : `${words}, about ${formatDuration(left)} left`;
}
