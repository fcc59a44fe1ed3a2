// The page for unknown URLs.
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../components/empty-state.tsx';

export function MissingScreen() {
  return (
    <EmptyState
      isScreen
      title="Page not found"
      action={
        <Link to="/jobs" className="font-medium text-accent hover:underline">
          Back to jobs
        </Link>
      }
    >
      The link may be incomplete, or the item was deleted.
    </EmptyState>
  );
}
