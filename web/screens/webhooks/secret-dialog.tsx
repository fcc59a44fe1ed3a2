// The secret of a webhook, shown once, and what it is for.
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';

export function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="The secret of the webhook">
      <div className="flex flex-col gap-4">
        <p className="text-muted">
          With it the receiver checks that a message comes from here. Messages are signed as Standard Webhooks
          say, for which most languages have a library.
        </p>
        <ShownOnce label="Secret" text={secret} />
        <Button kind="primary" className="self-end" onClick={onClose}>
          I have kept it
        </Button>
      </div>
    </Dialog>
  );
}
