// One delivery at the side of the list: what was sent, and how the receiver responded to each attempt.
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { z } from 'zod';
import type { deliveryDetail } from '../../../src/contract/webhooks.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StatusChip } from '../../components/status-chip.tsx';
import { say, sayError } from '../../components/toasts.tsx';
import { client } from '../../lib/client.ts';
import { copyText } from '../../lib/copy-text.ts';
import { formatDuration } from '../../lib/format.ts';

type Detail = z.infer<typeof deliveryDetail>;

const REFRESH_MS = 2000;

export interface DeliveryPanelProps {
  webhookId: string;
  deliveryId: string;
  /** Undefined if the user may not send it again. */
  onResend: (() => void) | undefined;
  onClose: () => void;
}

export function DeliveryPanel({ webhookId, deliveryId, onResend, onClose }: DeliveryPanelProps) {
  const found = useQuery({
    queryKey: ['deliveries', webhookId, 'one', deliveryId],
    queryFn: ({ signal }) => client.getDelivery({ webhookId, deliveryId }, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'PENDING' ? REFRESH_MS : false),
  });
  return (
    <Dialog open side onClose={onClose} title={found.data?.kind ?? 'Delivery'} description={found.data?.url}>
      {found.isError && <FailureNote error={found.error} />}
      {found.isPending && <Loading />}
      {found.data && <DeliveryFacts delivery={found.data} onResend={onResend} />}
    </Dialog>
  );
}

function DeliveryFacts({ delivery, onResend }: { delivery: Detail; onResend: (() => void) | undefined }) {
  const { state, attempts, nextAttemptAt, payload, log } = delivery;
  const shown = prettyJson(payload);
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="flex flex-wrap items-center gap-2">
          <StatusChip status={state} />
          <span className="text-muted">
            {attempts === 1 ? '1 attempt' : `${attempts} attempts`}
            {state === 'PENDING' && nextAttemptAt && attempts > 0 && (
              <>
                , next <RelativeTime at={nextAttemptAt} />
              </>
            )}
          </span>
        </p>
        {onResend && <Button onClick={onResend}>Send again</Button>}
      </div>
      <Part
        title="Payload"
        aside={
          <Button size="small" kind="quiet" onClick={() => copy(payload)}>
            Copy
          </Button>
        }
      >
        <Code>{shown}</Code>
      </Part>
      <Part title="Attempts">
        {log.length === 0 && <p className="text-muted">No attempt recorded yet.</p>}
        <ol className="flex flex-col gap-3">
          {[...log].reverse().map((each) => (
            <li key={each.attempt} className="flex flex-col gap-2 rounded-lg border border-line p-3">
              <p className="flex flex-wrap justify-between gap-x-3">
                <span>
                  <span className="font-medium">Attempt {each.attempt}</span>{' '}
                  {each.status !== null && <span className="tabular-nums">{each.status} </span>}
                  {each.status !== null && <span className="text-muted">{formatDuration(each.ms)}</span>}
                </span>
                <span className="text-muted">
                  <RelativeTime at={each.at} />
                </span>
              </p>
              {each.error && <p className="break-words text-bad">{each.error}</p>}
              {each.response && <Code>{prettyJson(each.response)}</Code>}
              <details>
                <summary className="cursor-pointer text-[13px] text-muted">Headers</summary>
                <Code>
                  {Object.entries(each.headers)
                    .map(([name, value]) => `${name}: ${value}`)
                    .join('\n')}
                </Code>
              </details>
            </li>
          ))}
        </ol>
      </Part>
    </div>
  );
}

function Part({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-2">
      <div className="flex items-center justify-between gap-2">
        <h3 className="font-semibold">{title}</h3>
        {aside}
      </div>
      {children}
    </section>
  );
}

/** Focusable, so that the keyboard can scroll it. */
function Code({ children }: { children: string }) {
  return (
    <pre
      tabIndex={0}
      className="max-h-80 overflow-auto rounded-md bg-sunken p-3 font-mono text-[13px] break-words whitespace-pre-wrap"
    >
      {children}
    </pre>
  );
}

function copy(payload: string): void {
  void copyText(payload).then(() => say('Copied'), sayError);
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
