// Content that is live while the server can be reached. Without it, the content is dimmed and its age counts up.
import { type ReactNode, useEffect, useState } from 'react';
import { formatDuration } from '../lib/format.ts';
import { useLiveState } from '../lib/live.ts';

export function Stale({ atMs, children }: { atMs: number; children: ReactNode }) {
  const isStale = useLiveState() === 'lost';
  return (
    <>
      {isStale && <AsOf atMs={atMs} />}
      <div className={isStale ? 'flex flex-col gap-4 opacity-60' : 'contents'}>{children}</div>
    </>
  );
}

/** The age of the numbers, which counts up while the server cannot be reached. */
export function AsOf({ atMs }: { atMs: number }) {
  const [nowMs, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p className="text-[13px] text-warn tabular-nums">
      As of {formatDuration(Math.max(1000, nowMs - atMs))} ago. Reconnecting…
    </p>
  );
}
