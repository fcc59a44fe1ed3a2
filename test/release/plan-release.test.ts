import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { nextVersion, releaseNotes, withVersion } from './plan-release.ts';

describe('the next version', () => {
  it.each([
    ['patch', '0.1.1'],
    ['minor', '0.2.0'],
    ['major', '1.0.0'],
    ['1.0.0-beta.1', '1.0.0-beta.1'],
  ])('for %s is %s', (wanted, version) => {
    expect(nextVersion('0.1.0', wanted)).toBe(version);
  });

  it('is refused if it is not a version', () => {
    expect(() => nextVersion('0.1.0', 'next')).toThrow('expected major, minor, patch or a version');
  });
});

describe('the changelog of a release', () => {
  it('has the unreleased changes under the new version', () => {
    const before = '# Changelog\n\n## Unreleased\n\n### Added\n\n- A\n\n## 0.1.0 (2026-01-01)\n\n- B\n';
    const { changelog, notes } = releaseNotes(before, '0.2.0', '2026-02-03');
    expect(notes).toBe('### Added\n\n- A');
    expect(changelog).toBe(
      '# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-02-03)\n\n### Added\n\n- A\n\n## 0.1.0 (2026-01-01)\n\n- B\n',
    );
  });

  it('is refused without changes, or without the heading', () => {
    expect(() => releaseNotes('## Unreleased\n\n## 0.1.0\n\n- B\n', '0.2.0', '2026-02-03')).toThrow(
      'found none',
    );
    expect(() => releaseNotes('# Changelog\n', '0.2.0', '2026-02-03')).toThrow('"## Unreleased"');
  });

  it('can be made from the one of this repository', () => {
    expect(releaseNotes(readFileSync('CHANGELOG.md', 'utf8'), '9.9.9', '2026-02-03').notes).toContain(
      '### Added',
    );
  });
});

describe('a package of a release', () => {
  it('has the new version, and depends on it', () => {
    expect(JSON.parse(withVersion(readFileSync('package.json', 'utf8'), '9.9.9'))).toMatchObject({
      version: '9.9.9',
      dependencies: { zod: expect.not.stringContaining('9.9.9') },
    });
    expect(
      JSON.parse(withVersion(readFileSync('create-rowmill/package.json', 'utf8'), '9.9.9')),
    ).toMatchObject({
      version: '9.9.9',
      dependencies: { rowmill: '^9.9.9' },
    });
  });

  it('has a chart of the same version', () => {
    expect(parse(withVersion(readFileSync('deploy/helm/rowmill/Chart.yaml', 'utf8'), '9.9.9'))).toMatchObject(
      {
        apiVersion: 'v2',
        version: '9.9.9',
        appVersion: '9.9.9',
      },
    );
  });
});
