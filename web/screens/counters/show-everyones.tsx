// Lets an administrator switch from their own counters to everyone's.
import { CheckField } from '../../components/check-field.tsx';
import { usePermission } from '../../lib/permission.ts';

export function ShowEveryones({ all, onChange }: { all: boolean; onChange: (all: boolean) => void }) {
  const { seesAll } = usePermission();
  if (!seesAll) return null;
  return (
    <CheckField
      label="Show everyone's counters"
      checked={all}
      onChange={({ target }) => onChange(target.checked)}
    />
  );
}
