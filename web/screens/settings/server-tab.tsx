// Version, features and limits of this server, read-only.
import { Check, Minus } from 'lucide-react';
import { Loading } from '../../components/loading.tsx';
import { Section } from '../../components/section.tsx';
import { useConfiguration } from '../../lib/configuration.ts';
import { formatBytes, formatCount, formatDuration } from '../../lib/format.ts';

export function ServerTab() {
  const { data } = useConfiguration();
  if (!data) return <Loading />;
  return (
    <div className="grid items-start gap-4 md:grid-cols-2">
      <Section title="Server">
        <dl className="grid grid-cols-[1fr_auto] gap-x-6 gap-y-2">
          <dt className="text-muted">Version</dt>
          <dd className="text-right">{data.version}</dd>
          <dt className="text-muted">Sign-in</dt>
          <dd>{data.authentication === 'none' ? 'None (open access)' : 'Username and password'}</dd>
        </dl>
      </Section>
      <Section title="Features">
        <ul className="flex flex-col gap-2">
          {Object.entries(data.features).map(([name, isOn]) => (
            <li key={name} className="flex items-center gap-2">
              {isOn ? (
                <Check size={16} className="text-good" aria-hidden />
              ) : (
                <Minus size={16} className="text-muted" aria-hidden />
              )}
              {wordsOf(name)} <span className="text-muted">{isOn ? 'on' : 'off'}</span>
            </li>
          ))}
        </ul>
        <p className="mt-3 text-[13px] text-muted">Set in the server configuration.</p>
      </Section>
      <Section title="Limits">
        <dl className="grid grid-cols-[1fr_auto] gap-x-6 gap-y-2">
          {Object.entries(data.limits).map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-muted">{LIMITS[name] ?? wordsOf(name.replace(/(Bytes|Ms)$/, ''))}</dt>
              <dd className="text-right tabular-nums">{limitText(name, value)}</dd>
            </div>
          ))}
        </dl>
      </Section>
    </div>
  );
}

const LIMITS: Record<string, string> = {
  pageSizeMax: 'Page size',
  uploadMaxBytes: 'Upload size',
  bodyMaxBytes: 'Request size',
  itemsMaxBytes: 'Rows per request',
  sliceMaxMs: 'Inline run',
};

/** uploadMax becomes "Upload max". */
function wordsOf(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function limitText(name: string, value: number): string {
  if (name.endsWith('Bytes')) return formatBytes(value);
  return name.endsWith('Ms') ? formatDuration(value) : formatCount(value);
}
