// Processes a job that no worker can run, in time slices inside requests, while the page is open.
import { Play } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { sayError } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';

const SLICE_MS = 5000;
/** Longest wait before looking again for rows that are due for a retry. */
const LONGEST_REST_MS = 5000;

export function ProcessNow({ jobId }: { jobId: string }) {
  const [isBusy, setBusy] = useState(false);
  const gone = useRef<AbortController | null>(null);
  useEffect(() => () => gone.current?.abort(), []);
  const run = async () => {
    const leaving = new AbortController();
    gone.current = leaving;
    const { signal } = leaving;
    setBusy(true);
    try {
      while (!signal.aborted) {
        const slice = await client.kickoffJob({ jobId, durationMs: SLICE_MS }, { signal });
        void queries.invalidateQueries({ queryKey: ['job', jobId] });
        if (slice.finished || slice.moreReadyInMs === null) break;
        const restMs = Math.min(slice.moreReadyInMs, LONGEST_REST_MS);
        if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
      }
    } catch (error) {
      if (!signal.aborted) sayError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button
      size="small"
      disabled={isBusy}
      title="The server works on the job while this page is open"
      onClick={() => void run()}
    >
      <Play size={14} aria-hidden /> {isBusy ? 'Processing…' : 'Process now'}
    </Button>
  );
}
