// For administrators: their own numbers, or those of everybody.
import { CheckField } from '../../components/check-field.tsx';
import { usePermission } from '../../lib/permission.ts';

export function OfEverybody({ all, onChange }: { all: boolean; onChange: (all: boolean) => void }) {
  const { seesAll } = usePermission();
  if (!seesAll) return null;
  return (
    <CheckField label="Of everybody" checked={all} onChange={({ target }) => onChange(target.checked)} />
  );
}
