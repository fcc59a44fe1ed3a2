// Asks before money is spent or something cannot be taken back. The words say what will happen.
import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

export interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** The label of the button, as a verb: "Cancel job". */
  action: string;
  /** The button that leaves everything as it is. */
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
