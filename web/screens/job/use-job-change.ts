// Calls back when a job makes progress, at most once per interval, and once more for events within it.
import { useCallback, useEffect, useRef } from 'react';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import { useProgress } from '../../lib/live.ts';

export function useJobChange(jobId: string, everyMs: number, onChange: () => void): void {
  const latest = useRef(onChange);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const lastMs = useRef(0);
  useEffect(() => {
    latest.current = onChange;
  });
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  const listen = useCallback(
    (event: ProgressEvent) => {
      if (event.jobId !== jobId || timer.current !== undefined) return;
      const waitMs = Math.max(0, lastMs.current + everyMs - performance.now());
      timer.current = setTimeout(() => {
        timer.current = undefined;
        lastMs.current = performance.now();
        latest.current();
      }, waitMs);
    },
    [jobId, everyMs],
  );
  useProgress(listen);
}
