// Asks before an action that costs money or cannot be undone. The text describes the effect.
import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

export interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** Label of the button, as a verb: "Cancel job". */
  action: string;
  /** Label of the button that changes nothing. */
  cancel?: string;
  danger?: boolean;
  children: ReactNode;
  onConfirm: () => Promise<unknown>;
}

export function Confirm(props: ConfirmProps) {
  const { open, onClose, title, action, cancel = 'Cancel', danger = false, children, onConfirm } = props;
  const [isBusy, setBusy] = useState(false);
  const confirm = async () => {
    setBusy(true);
    try {
      await onConfirm();
      onClose();
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open={open} onClose={onClose} title={title}>
      <div className="flex flex-col gap-4">
        <div className="text-muted">{children}</div>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{cancel}</Button>
          <Button kind={danger ? 'danger' : 'primary'} disabled={isBusy} onClick={() => void confirm()}>
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
