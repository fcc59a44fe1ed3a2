// Something went wrong with a whole screen: what, and what to do.
import { RowmillApiError } from '../../src/client/rowmill-api-error.ts';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';

export function FailedScreen({ error }: { error: unknown }) {
  const isOurs = error instanceof RowmillApiError;
  return (
    <EmptyState
      isScreen
      title="This did not work"
      action={<Button onClick={() => location.reload()}>Try again</Button>}
    >
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {isOurs && <p>{error.hint}</p>}
      {isOurs && error.requestId !== null && <p className="font-mono text-xs">request {error.requestId}</p>}
    </EmptyState>
  );
}
