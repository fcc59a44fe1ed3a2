// The secret of a webhook, shown once.
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';

export function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Webhook secret">
      <div className="flex flex-col gap-4">
        <p className="text-muted">Use it to verify signatures (Standard Webhooks).</p>
        <ShownOnce label="Secret" text={secret} />
        <Button kind="primary" className="self-end" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
