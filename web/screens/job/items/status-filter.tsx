// Filters rows by status.
import { Check } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { Menu, menuItemClass } from '../../../components/menu.tsx';
import { StatusChip, statusWord } from '../../../components/status-chip.tsx';

const STATUSES = ['PENDING', 'DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'];

export interface StatusFilterProps {
  /** Comma-separated. Empty: any. */
  statuses: string;
  onChange: (statuses: string) => void;
}

export function StatusFilter({ statuses, onChange }: StatusFilterProps) {
  const chosen = statuses.split(',').filter((each) => STATUSES.includes(each));
  const toggle = (status: string) => {
    const next = chosen.includes(status) ? chosen.filter((each) => each !== status) : [...chosen, status];
    onChange(next.length === STATUSES.length ? '' : next.join(','));
  };
  const words = chosen.length === 0 ? 'Any status' : chosen.map(statusWord).join(', ');
  return (
    <Menu label={<span className="max-w-48 truncate">{words}</span>} name={`Status: ${words}`}>
      {STATUSES.map((status) => (
        <DropdownMenu.CheckboxItem
          key={status}
          checked={chosen.includes(status)}
          onCheckedChange={() => toggle(status)}
          // The menu stays open to select several.
          onSelect={(event) => event.preventDefault()}
          className={menuItemClass}
        >
          <span className="w-4">
            <DropdownMenu.ItemIndicator>
              <Check size={15} aria-hidden />
            </DropdownMenu.ItemIndicator>
          </span>
          <StatusChip status={status} />
        </DropdownMenu.CheckboxItem>
      ))}
      {chosen.length > 0 && (
        <DropdownMenu.Item
          className={`${menuItemClass} border-t border-line text-muted`}
          onSelect={() => onChange('')}
        >
          <span className="w-4" /> Any status
        </DropdownMenu.Item>
      )}
    </Menu>
  );
}
