// For administrators: their own numbers, or those of everybody.
import { CheckField } from '../../components/check-field.tsx';
import { useSession } from '../../lib/session.ts';

export function OfEverybody({ all, onChange }: { all: boolean; onChange: (all: boolean) => void }) {
  const session = useSession();
  if (session.data?.role !== 'admin' || session.data.via === 'none') return null;
  return (
    <CheckField label="Of everybody" checked={all} onChange={({ target }) => onChange(target.checked)} />
  );
}
