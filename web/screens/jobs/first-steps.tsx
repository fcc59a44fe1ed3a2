// The checklist of a new server, above the list of jobs: it ends with its last step, or when it is dismissed in this
// browser. A server that has results before anybody saw the list does not show it.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Circle, CircleCheck } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Section } from '../../components/section.tsx';
import { client } from '../../lib/client.ts';
import { useConfiguration } from '../../lib/configuration.ts';
import type { Job } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';

const KEY = 'rowmill-first-steps';
const REFRESH_MS = 5000;

type ListedJob = Pick<Job, 'jobId' | 'counts'>;

interface Step {
  name: string;
  isDone: boolean;
  next: ReactNode;
}

/** `jobs`: the newest ones, without a filter. */
export function FirstSteps({ jobs }: { jobs: readonly ListedJob[] }) {
  const [stored, setStored] = useState(() => localStorage.getItem(KEY));
  const hasResult = jobs.some(({ counts }) => counts.DONE > 0);
  const isShown = stored === 'open' || (stored === null && !hasResult);
  const store = useCallback((state: 'open' | 'closed') => {
    localStorage.setItem(KEY, state);
    setStored(state);
  }, []);
  return isShown && <Checklist jobs={jobs} hasResult={hasResult} onStore={store} />;
}

interface ChecklistProps {
  jobs: readonly ListedJob[];
  hasResult: boolean;
  onStore: (state: 'open' | 'closed') => void;
}

function Checklist({ jobs, hasResult, onStore }: ChecklistProps) {
  const steps = useSteps(jobs, hasResult);
  const isOver = steps?.every(({ isDone }) => isDone) ?? false;
  useEffect(() => onStore(isOver ? 'closed' : 'open'), [isOver, onStore]);
  if (steps === null || isOver) return null;
  return (
    <Section
      title="First steps"
      aside={
        <Button size="small" kind="quiet" onClick={() => onStore('closed')}>
          Dismiss
        </Button>
      }
    >
      <ol className="flex flex-col gap-2">
        {steps.map(({ name, isDone, next }) => (
          <li key={name} className="flex items-start gap-2.5">
            {isDone ? (
              <CircleCheck size={18} className="mt-0.5 shrink-0 text-good" aria-label="Done" />
            ) : (
              <Circle size={18} className="mt-0.5 shrink-0 text-muted" aria-label="To do" />
            )}
            <span>
              {name}
              {!isDone && <span className="text-muted"> — {next}</span>}
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** Null while the first responses are missing. */
function useSteps(jobs: readonly ListedJob[], hasResult: boolean): Step[] | null {
  const { can } = usePermission();
  const { data: configuration } = useConfiguration();
  const canInvite = configuration?.authentication === 'password' && can('createUser', 'listUsers');
  const pipelines = useQuery({ queryKey: ['pipelines'], queryFn: () => client.listPipelines() });
  const workers = useQuery({
    queryKey: ['workers'],
    queryFn: ({ signal }) => client.listWorkers({}, { signal }),
    refetchInterval: REFRESH_MS,
  });
  const users = useQuery({ queryKey: ['users'], queryFn: () => client.listUsers(), enabled: canInvite });
  if (!configuration || !pipelines.data || !workers.data || (canInvite && !users.data)) return null;
  const [newest] = jobs;
  return [
    {
      name: 'Load a pipeline',
      isDone: pipelines.data.items.length > 0,
      next: <Code>rowmill server pipelines/price-lookup.ts</Code>,
    },
    {
      name: 'Connect a worker',
      isDone: workers.data.items.some(({ alive }) => alive),
      next: <Code>rowmill worker pipelines/price-lookup.ts</Code>,
    },
    {
      name: 'Run your first file',
      isDone: jobs.length > 0,
      next: (
        <Link to="/jobs/new" className="underline">
          Upload a file
        </Link>
      ),
    },
    {
      name: 'See your first result',
      isDone: hasResult,
      next: newest ? (
        <Link to="/jobs/$jobId" params={{ jobId: newest.jobId }} className="underline">
          Open the newest job
        </Link>
      ) : (
        'after the first file'
      ),
    },
    ...(canInvite
      ? [
          {
            name: 'Invite a colleague',
            isDone: (users.data?.items.length ?? 0) > 1,
            next: (
              <Link to="/settings" search={{ tab: 'people' }} className="underline">
                Add a person
              </Link>
            ),
          },
        ]
      : []),
  ];
}

function Code({ children }: { children: string }) {
  return <code className="font-mono text-[13px] break-words">{children}</code>;
}
