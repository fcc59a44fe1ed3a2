// The audit log, newest first.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { ShowMore } from '../../components/show-more.tsx';
import { cellClass, rowClass, Table } from '../../components/table.tsx';
import { client } from '../../lib/client.ts';
import { detailWords } from '../../lib/detail-words.ts';

export interface AuditTabProps {
  actor: string | undefined;
  subject: string | undefined;
}

export function AuditTab({ actor, subject }: AuditTabProps) {
  const navigate = useNavigate({ from: '/settings' });
  const entries = useInfiniteQuery({
    queryKey: ['audit', actor, subject],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.listAudit(
        {
          ...(actor && { actor }),
          ...(subject && { subject }),
          ...(pageParam !== undefined && { after: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const search = useCallback(
    (next: { actor?: string; subject?: string }) =>
      void navigate({
        search: (before) => {
          const { actor: by, subject: on } = { ...before, ...next };
          return { tab: 'audit' as const, ...(by && { actor: by }), ...(on && { subject: on }) };
        },
        replace: true,
      }),
    [navigate],
  );
  const listed = entries.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap gap-2">
        <SearchBox
          label="Who"
          value={actor ?? ''}
          onChange={useCallback((text) => search({ actor: text }), [search])}
        />
        <SearchBox
          label="Target"
          value={subject ?? ''}
          onChange={useCallback((text) => search({ subject: text }), [search])}
        />
      </div>
      {entries.isError && <FailureNote error={entries.error} />}
      {entries.isSuccess &&
        (listed.length === 0 ? (
          <EmptyState title="No entries">
            {actor || subject ? 'Enter the full name.' : 'Changes by people and API keys are logged here.'}
          </EmptyState>
        ) : (
          <Table label="Audit" headings={['When', 'Who', 'Action', 'Target', 'Detail', 'IP address']}>
            {listed.map((entry) => (
              <tr key={entry.auditId} className={rowClass}>
                <td className={`${cellClass} text-muted`}>
                  <RelativeTime at={entry.at} />
                </td>
                <td className={cellClass}>
                  <Link
                    to="/settings"
                    search={{ tab: 'audit', actor: entry.actor }}
                    className="hover:underline"
                  >
                    {entry.actor}
                  </Link>
                </td>
                <td className={`${cellClass} font-medium whitespace-nowrap`}>{entry.action}</td>
                <td className={`${cellClass} max-w-48 truncate`} title={entry.subject}>
                  <Subject subject={entry.subject} />
                </td>
                <td
                  className={`${cellClass} max-w-72 truncate text-[13px] text-muted`}
                  title={detailWords(entry.detail).join(' · ')}
                >
                  {detailWords(entry.detail).join(' · ')}
                </td>
                <td className={`${cellClass} text-muted`} title={`request ${entry.requestId ?? 'unknown'}`}>
                  {entry.address}
                </td>
              </tr>
            ))}
          </Table>
        ))}
      <ShowMore of={entries} />
    </div>
  );
}

/** Links a job to its screen, and anything else to its own audit entries. */
function Subject({ subject }: { subject: string }) {
  const jobId = /^job ([0-9a-f-]{36})$/.exec(subject)?.[1];
  if (jobId !== undefined)
    return (
      <Link to="/jobs/$jobId" params={{ jobId }} className="hover:underline">
        {subject}
      </Link>
    );
  return (
    <Link to="/settings" search={{ tab: 'audit', subject }} className="hover:underline">
      {subject}
    </Link>
  );
}
