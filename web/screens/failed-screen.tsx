// The error of a whole screen, with a hint and the request id.
import { RowmillApiError } from '../../src/client/rowmill-api-error.ts';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { errorWords } from '../lib/error-words.ts';

export function FailedScreen({ error }: { error: unknown }) {
  const isOurs = error instanceof RowmillApiError;
  const { text, hint } = errorWords(error);
  return (
    <EmptyState
      isScreen
      title="Something went wrong"
      action={<Button onClick={() => location.reload()}>Try again</Button>}
    >
      <p>{text}</p>
      {hint !== '' && <p>{hint}</p>}
      {isOurs && error.requestId !== null && <p className="font-mono text-xs">request {error.requestId}</p>}
    </EmptyState>
  );
}
