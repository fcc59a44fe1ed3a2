// Deliveries of a webhook, newest first.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { z } from 'zod';
import type { delivery as deliverySchema } from '../../../src/contract/webhooks.ts';
import { Button } from '../../components/button.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { inputClass } from '../../components/field.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { ShowMore } from '../../components/show-more.tsx';
import { StatusChip } from '../../components/status-chip.tsx';
import { cellClass, numberClass, rowClass, Table } from '../../components/table.tsx';
import { say, sayError } from '../../components/toasts.tsx';
import { classNames } from '../../lib/class-names.ts';
import { client, queries } from '../../lib/client.ts';
import { formatCount, formatDuration } from '../../lib/format.ts';
import { webhookRoute } from '../../routes/router.tsx';
import { DeliveryPanel } from './delivery-panel.tsx';

type Delivery = z.infer<typeof deliverySchema>;

const REFRESH_MS = 10_000;

export function Deliveries({ webhookId, canResend }: { webhookId: string; canResend: boolean }) {
  const { state } = webhookRoute.useSearch();
  const navigate = useNavigate({ from: '/webhooks/$webhookId' });
  const deliveries = useInfiniteQuery({
    queryKey: ['deliveries', webhookId, state],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.listDeliveries(
        { webhookId, ...(state && { state }), ...(pageParam !== undefined && { after: pageParam }) },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
    // No refresh while the user reads older pages.
    refetchInterval: ({ state: { data } }) => (data && data.pages.length > 1 ? false : REFRESH_MS),
  });
  const [openId, setOpenId] = useState<string | null>(null);
  const resend = (deliveryId: string) =>
    void client
      .resendDelivery({ webhookId, deliveryId })
      .then(() => say('Resent'))
      .catch(sayError)
      .finally(() => void queries.invalidateQueries({ queryKey: ['deliveries', webhookId] }));
  const listed = deliveries.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="font-semibold">Deliveries</h2>
        <select
          aria-label="Status"
          className={classNames(inputClass, 'w-auto')}
          value={state ?? ''}
          onChange={({ target }) =>
            void navigate({
              search: target.value === '' ? {} : { state: target.value as Delivery['state'] },
              replace: true,
            })
          }
        >
          <option value="">All</option>
          <option value="PENDING">Pending</option>
          <option value="DELIVERED">Delivered</option>
          <option value="DEAD">Failed</option>
        </select>
      </div>
      {deliveries.isError && <FailureNote error={deliveries.error} />}
      {deliveries.isSuccess &&
        (listed.length === 0 ? (
          <p className="text-muted">
            {state ? 'No deliveries with this status' : 'No deliveries yet. Send a test'}.
          </p>
        ) : (
          <Table
            label="Deliveries"
            headings={['Event', 'Job', 'Status', 'Attempts', 'Response', 'Created', '']}
            numbers={[3]}
          >
            {listed.map((delivery) => (
              <DeliveryRow
                key={delivery.deliveryId}
                delivery={delivery}
                onOpen={() => setOpenId(delivery.deliveryId)}
                onResend={canResend ? () => resend(delivery.deliveryId) : undefined}
              />
            ))}
          </Table>
        ))}
      <ShowMore of={deliveries} />
      {openId !== null && (
        <DeliveryPanel
          webhookId={webhookId}
          deliveryId={openId}
          onResend={canResend ? () => resend(openId) : undefined}
          onClose={() => setOpenId(null)}
        />
      )}
    </div>
  );
}

interface DeliveryRowProps {
  delivery: Delivery;
  onOpen: () => void;
  onResend: (() => void) | undefined;
}

function DeliveryRow({ delivery, onOpen, onResend }: DeliveryRowProps) {
  const { jobId, state } = delivery;
  return (
    <tr className={rowClass}>
      <th scope="row" className={`${cellClass} font-mono text-[13px] font-normal`} title={delivery.messageId}>
        <button type="button" className="text-left hover:underline" onClick={onOpen}>
          {delivery.kind}
        </button>
      </th>
      <td className={cellClass}>
        {jobId && (
          <Link to="/jobs/$jobId" params={{ jobId }} className="font-mono text-[13px] hover:underline">
            {jobId.slice(0, 8)}
          </Link>
        )}
      </td>
      <td className={cellClass}>
        <StatusChip status={state} />
        {state === 'PENDING' && delivery.nextAttemptAt && delivery.attempts > 0 && (
          <span className="block text-[13px] text-muted">
            retrying <RelativeTime at={delivery.nextAttemptAt} />
          </span>
        )}
      </td>
      <td className={numberClass}>{formatCount(delivery.attempts)}</td>
      <td className={`${cellClass} max-w-64 text-[13px]`}>
        {delivery.lastStatus !== null && <span className="tabular-nums">{delivery.lastStatus} </span>}
        {delivery.lastMs !== null && <span className="text-muted">{formatDuration(delivery.lastMs)}</span>}
        {delivery.lastError && <p className="break-words text-bad">{delivery.lastError}</p>}
      </td>
      <td className={`${cellClass} text-muted`}>
        <RelativeTime at={delivery.createdAt} />
      </td>
      <td className={`${cellClass} text-right`}>
        {onResend && (
          <Button size="small" onClick={onResend}>
            Send again<span className="sr-only"> {delivery.kind}</span>
          </Button>
        )}
      </td>
    </tr>
  );
}
