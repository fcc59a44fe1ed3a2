// The list of things that need a person: jobs by reason, stopped resources and failing webhooks. Each line leads to what it counts.
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { JOB_NEEDS } from '../../../src/core/jobs/job-need.ts';
import { Section } from '../../components/section.tsx';
import { needWords } from '../jobs/need-words.ts';
import type { Overview } from './overview-screen.tsx';

export function Attention({ overview, all }: { overview: Overview; all: boolean | undefined }) {
  const { needs, stoppedResources, failingWebhooks } = overview;
  const jobs = JOB_NEEDS.filter((need) => needs[need] > 0);
  const isEmpty = jobs.length + stoppedResources.length + failingWebhooks.length === 0;
  return (
    <Section title="Needs attention">
      {isEmpty ? (
        <p className="text-muted">Nothing needs your attention.</p>
      ) : (
        <ul className="flex flex-col gap-1.5">
          {jobs.map((need) => (
            <Line key={need} tone={need === 'failed' ? 'bg-bad' : 'bg-warn'}>
              <Link
                to="/jobs"
                search={{ needs: need, ...(all && { all }) }}
                className="font-medium hover:underline"
              >
                {needWords(need, needs[need])}
              </Link>
            </Line>
          ))}
          {stoppedResources.map(({ name, key, reason }) => (
            <Line key={`${name} ${key}`} tone="bg-bad">
              <Link to="/resources" search={{ name }} className="font-medium hover:underline">
                Resource {name}
                {key !== '' && ` (${key})`} is stopped
              </Link>
              <span className="text-muted">{reason}</span>
            </Line>
          ))}
          {failingWebhooks.map(({ webhookId, url, reason }) => (
            <Line key={webhookId} tone="bg-warn">
              <Link
                to="/webhooks/$webhookId"
                params={{ webhookId }}
                className="font-medium break-all hover:underline"
              >
                Webhook {url} is failing
              </Link>
              <span className="text-muted">{reason}</span>
            </Line>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Line({ tone, children }: { tone: string; children: ReactNode }) {
  return (
    <li className="flex items-baseline gap-2.5">
      <span aria-hidden className={`size-2 shrink-0 rounded-full ${tone}`} />
      <span className="flex min-w-0 flex-wrap gap-x-2">{children}</span>
    </li>
  );
}
