// Settings: account, API keys, people and teams, quotas, sources, audit log and server.
import { Link } from '@tanstack/react-router';
import { Loading } from '../../components/loading.tsx';
import { Page } from '../../components/page.tsx';
import { usePermission } from '../../lib/permission.ts';
import { useSession } from '../../lib/session.ts';
import { SETTINGS_TABS, settingsRoute } from '../../routes/router.tsx';
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
  owners: 'Quotas',
  sources: 'Sources',
  audit: 'Audit',
  server: 'Server',
};

export function SettingsScreen() {
  const search = settingsRoute.useSearch();
  const session = useSession();
  const { can } = usePermission();
  if (!session.data) return <Loading isScreen />;
  const hasAccounts = session.data.via !== 'none';
  const isShown: Record<Tab, boolean> = {
    account: hasAccounts,
    keys: hasAccounts && can('listKeys'),
    people: hasAccounts && can('listUsers', 'listTeams'),
    owners: can('listOwners'),
    sources: can('listSources'),
    audit: can('listAudit'),
    server: true,
  };
  const tabs = SETTINGS_TABS.filter((each) => isShown[each]);
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
      {tab === 'keys' && <KeysTab />}
      {tab === 'people' && <PeopleTab ownId={session.data.userId} />}
      {tab === 'owners' && <OwnersTab />}
      {tab === 'sources' && <SourcesTab />}
      {tab === 'audit' && <AuditTab actor={search.actor} subject={search.subject} />}
      {tab === 'server' && <ServerTab />}
    </Page>
  );
}
