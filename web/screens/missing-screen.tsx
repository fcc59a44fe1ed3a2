// There is nothing at this address.
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../components/empty-state.tsx';

export function MissingScreen() {
  return (
    <EmptyState
      isScreen
      title="There is nothing here"
      action={
        <Link to="/jobs" className="font-medium text-accent hover:underline">
          Go to the jobs
        </Link>
      }
    >
      The address may be cut off, or what it showed was removed.
    </EmptyState>
  );
}
