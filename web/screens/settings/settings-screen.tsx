// The account, its keys, people and teams, what owners may have, sources, who changed what, and how the server is set.
import { Link } from '@tanstack/react-router';
import { Page } from '../../components/page.tsx';
import { useSession } from '../../lib/session.ts';
import { type SETTINGS_TABS, settingsRoute } from '../../routes/router.tsx';
import { AccountTab } from './account-tab.tsx';
import { AuditTab } from './audit-tab.tsx';
import { KeysTab } from './keys-tab.tsx';
import { OwnersTab } from './owners-tab.tsx';
import { PeopleTab } from './people-tab.tsx';
import { ServerTab } from './server-tab.tsx';
import { SourcesTab } from './sources-tab.tsx';

type Tab = (typeof SETTINGS_TABS)[number];

const WORDS: Record<Tab, string> = {
  account: 'Account',
  keys: 'API keys',
  people: 'People and teams',
  owners: 'Shares',
  sources: 'Sources',
  audit: 'Audit',
  server: 'Server',
};

export function SettingsScreen() {
  const search = settingsRoute.useSearch();
  const session = useSession();
  if (!session.data) return <p className="p-6 text-muted">Loading…</p>;
  const { role, via } = session.data;
  const hasAccounts = via !== 'none';
  const tabs: Tab[] = [
    ...(hasAccounts ? (['account', 'keys'] as const) : []),
    ...(hasAccounts && role === 'admin' ? (['people'] as const) : []),
    ...(role === 'admin' ? (['owners'] as const) : []),
    ...(role !== 'viewer' ? (['sources'] as const) : []),
    ...(role === 'admin' ? (['audit'] as const) : []),
    'server',
  ];
  const tab = search.tab && tabs.includes(search.tab) ? search.tab : hasAccounts ? 'account' : 'server';
  return (
    <Page title="Settings">
      <nav aria-label="Settings" className="flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((each) => (
          <Link
            key={each}
            to="/settings"
            search={{ tab: each }}
            aria-current={each === tab ? 'page' : undefined}
            className="-mb-px border-b-2 border-transparent px-3 py-2 font-medium whitespace-nowrap text-muted hover:text-text aria-[current=page]:border-accent aria-[current=page]:text-text"
          >
            {WORDS[each]}
          </Link>
        ))}
      </nav>
      {tab === 'account' && <AccountTab session={session.data} />}
      {tab === 'keys' && <KeysTab isAdmin={role === 'admin'} />}
      {tab === 'people' && <PeopleTab ownId={session.data.userId} />}
      {tab === 'owners' && <OwnersTab />}
      {tab === 'sources' && <SourcesTab isAdmin={role === 'admin'} />}
      {tab === 'audit' && <AuditTab actor={search.actor} subject={search.subject} />}
      {tab === 'server' && <ServerTab />}
    </Page>
  );
}
