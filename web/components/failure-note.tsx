// An error in a part of a screen, with a hint and an optional action.
import type { ReactNode } from 'react';
import { errorWords } from '../lib/error-words.ts';

export function FailureNote({ error, action }: { error: unknown; action?: ReactNode }) {
  const { text, hint } = errorWords(error);
  return (
    <div
      role="alert"
      className="flex flex-wrap items-start justify-between gap-3 rounded-md border border-line border-l-4 border-l-bad bg-surface px-4 py-3"
    >
      <div className="min-w-0 flex-1">
        <p className="font-medium break-words text-bad">{text}</p>
        {hint !== '' && <p className="text-[13px] text-muted">{hint}</p>}
      </div>
      {action}
    </div>
  );
}
