// Decides the version and the changelog of a release. Pure: prepare-release.ts reads and writes the files.
import { inc, type ReleaseType, valid } from 'semver';

const STEPS: readonly string[] = ['major', 'minor', 'patch'];

/** `wanted` is major, minor, patch, or a version of its own. */
export function nextVersion(current: string, wanted: string): string {
  const next = STEPS.includes(wanted) ? inc(current, wanted as ReleaseType) : valid(wanted);
  if (next === null)
    throw new Error(`expected major, minor, patch or a version such as 1.2.3, got "${wanted}"`);
  return next;
}

export interface ReleaseNotes {
  /** The changelog, with the unreleased changes under the new version. */
  changelog: string;
  /** The changes of this release alone. */
  notes: string;
}

const UNRELEASED = '## Unreleased\n';

export function releaseNotes(changelog: string, version: string, date: string): ReleaseNotes {
  const from = changelog.indexOf(UNRELEASED);
  if (from === -1) throw new Error('expected CHANGELOG.md to have the heading "## Unreleased"');
  const start = from + UNRELEASED.length;
  const next = changelog.indexOf('\n## ', start);
  const end = next === -1 ? changelog.length : next;
  const notes = changelog.slice(start, end).trim();
  if (notes === '') throw new Error('expected changes under "## Unreleased" in CHANGELOG.md, found none');
  return {
    changelog: `${changelog.slice(0, start)}\n## ${version} (${date})\n${changelog.slice(start)}`,
    notes,
  };
}

/** A package.json or Chart.yaml as text, with the version and, where it depends on rowmill, that version of it. */
export function withVersion(text: string, version: string): string {
  return text
    .replace(/^( {2}"version": ")[^"]+/m, `$1${version}`)
    .replace(/^( {4}"rowmill": "\^)[^"]+/m, `$1${version}`)
    .replace(/^(version: ).+/m, `$1${version}`)
    .replace(/^(appVersion: ).+/m, `$1"${version}"`);
}
