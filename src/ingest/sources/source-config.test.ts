import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { loadSources, parseSources } from './source-config.ts';

const FOLDER = { name: 'in', kind: 'folder', pipeline: 'p', path: '/data/in' };
const S3 = { name: 'bucket', kind: 's3', pipeline: 'p', bucket: 'b' };
const FTP = {
  name: 'ftp',
  kind: 'ftp',
  pipeline: 'p',
  host: 'h',
  path: '/',
  user: 'u',
  passwordEnv: 'FTP_PASSWORD',
};
const SFTP = { ...FTP, name: 'sftp', kind: 'sftp' };
const { passwordEnv: _, ...NO_PASSWORD } = SFTP;

function refusal(...sources: unknown[]): RowmillError {
  try {
    parseSources(sources);
  } catch (error) {
    expect(error).toBeInstanceOf(RowmillError);
    expect((error as RowmillError).code).toBe('SOURCE_INVALID');
    return error as RowmillError;
  }
  throw new Error('expected it to be refused');
}

describe('sources', () => {
  it('are accepted with what each kind needs, and get their defaults', () => {
    const common = {
      owner: 'me',
      params: { currency: 'EUR' },
      format: { delimiter: ';', quote: '', header: false },
      mapping: { sku: 'Artikel' },
      include: ['*.csv'],
      stableMs: 0,
      pollMs: 1000,
    };
    expect(
      parseSources([
        { ...FOLDER, ...common, recursive: true },
        { ...S3, ...common, prefix: 'in/', move: { done: 'done/', failed: 'failed/' } },
        { ...FTP, ...common },
        { ...SFTP, ...common, hostKey: `SHA256:${'a'.repeat(43)}` },
      ]),
    ).toMatchObject([
      { recursive: true, ...common },
      { prefix: 'in/' },
      { secure: 'explicit' },
      { user: 'u' },
    ]);
    expect(parseSources([S3])).toMatchObject([{ prefix: '' }]);
  });

  it.each([
    ['sources to be a list with at least one source, got []', []],
    ['sources[0] to be an object, got 7', [7]],
    ['sources[0].kind to be one of folder, s3, ftp, sftp, got "foldr"', [{ ...FOLDER, kind: 'foldr' }]],
    [
      'sources[0].kind to be one of folder, s3, ftp, sftp, got "constructor"',
      [{ ...FOLDER, kind: 'constructor' }],
    ],
    ['sources[1].name to be different from sources[0].name, got "in"', [FOLDER, FOLDER]],
    ['sources[0].name to be at most 100 letters, digits, dots', [{ ...FOLDER, name: 'a b' }]],
    [
      'sources[0].path to be valid (expected string, received undefined), got nothing',
      [{ ...FOLDER, path: undefined }],
    ],
    ['sources[0].stableMs to be valid', [{ ...FOLDER, stableMs: -1 }]],
    [
      'sources[0].include[0] to be a pattern for names, without a slash, got "a/*"',
      [{ ...FOLDER, include: ['a/*'] }],
    ],
    ['sources[0].format.quote to be valid', [{ ...FOLDER, format: { quote: '""' } }]],
    [
      'sources[0].passwordEnv to be the name of an environment variable, got "a secret"',
      [{ ...FTP, passwordEnv: 'a secret' }],
    ],
    ['sources[0].hostKey to be a fingerprint', [{ ...SFTP, hostKey: 'MD5:aa' }]],
    ['sources[0].passwordEnv or privateKeyFile to be set, got nothing', [NO_PASSWORD]],
    [
      'sources[0].move.done to be a prefix that ends with a slash, got "done"',
      [{ ...S3, move: { done: 'done', failed: 'f/' } }],
    ],
    [
      'sources[0].move.failed to be outside of the prefix "in/", got "in/failed/"',
      [{ ...S3, prefix: 'in/', move: { done: 'd/', failed: 'in/failed/' } }],
    ],
    ['sources[0].endpoint to be an http or https address, got "ftp://x"', [{ ...S3, endpoint: 'ftp://x' }]],
    ['sources[0].accessKeyIdEnv and secretAccessKeyEnv to be set together', [{ ...S3, accessKeyIdEnv: 'A' }]],
    ['sources[0].allowPlain to be true for FTP without encryption', [{ ...FTP, secure: 'none' }]],
  ])('are refused: expected %s', (message, sources) => {
    // it.each cannot pass an empty list as an argument.
    const error = sources.length === 0 ? catchError(() => parseSources([])) : refusal(...sources);
    expect(error.message).toContain(`expected ${message}`);
  });

  it('are refused with a suggestion if a key is unknown', () => {
    expect(refusal({ ...FOLDER, recursiv: true }).message).toBe(
      'unknown key sources[0].recursiv, did you mean recursive?',
    );
    expect(refusal({ ...FOLDER, format: { delimeter: ';' } }).message).toBe(
      'unknown key sources[0].format.delimeter, did you mean delimiter?',
    );
    expect(refusal({ ...FOLDER, zzzzzzzz: 1 }).message).toBe('unknown key sources[0].zzzzzzzz');
  });

  it.each([
    ['password', FTP, 'passwordEnv'],
    ['passphrase', SFTP, 'passphraseEnv'],
    ['privateKey', SFTP, 'privateKeyFile'],
    ['secretAccessKey', S3, 'secretAccessKeyEnv'],
  ])('contain no secrets: %s is refused without being repeated', (key, source, instead) => {
    const error = refusal({ ...source, [key]: 'hunter2' });
    expect(error.message).toBe(
      `expected sources[0].${key} to be absent: secrets do not belong in a settings file`,
    );
    expect(error.hint).toContain(instead);
    expect(JSON.stringify(error) + error.message + error.hint).not.toContain('hunter2');
  });

  it('are accepted as docs/sources.md shows them', () => {
    const page = readFileSync(new URL('../../../docs/sources.md', import.meta.url), 'utf8');
    const example = JSON.parse(/```json\n(.*?)```/s.exec(page)![1]!) as { sources: unknown };
    expect(parseSources(example.sources).map(({ kind }) => kind)).toEqual(['folder', 's3', 'ftp', 'sftp']);
  });

  it('allow plain FTP if allowPlain is set', () => {
    expect(parseSources([{ ...FTP, secure: 'none', allowPlain: true }])).toMatchObject([{ secure: 'none' }]);
  });
});

describe('the settings file', () => {
  it('contains the sources beside the settings', () => {
    const folder = mkdtempSync(join(tmpdir(), 'rowmill-config-'));
    const file = join(folder, 'rowmill.json');
    writeFileSync(file, JSON.stringify({ sourcePollMs: 1000, sources: [FOLDER] }));
    expect(loadSources(file)).toMatchObject([{ name: 'in' }]);
    writeFileSync(file, '{"sources": [');
    expect(() => loadSources(file)).toThrow(/cannot read sources from/);
    rmSync(folder, { recursive: true });
    expect(() => loadSources(file)).toThrow(/ENOENT/);
  });

  it('need not have sources, and need not exist', () => {
    const folder = mkdtempSync(join(tmpdir(), 'rowmill-config-'));
    const file = join(folder, 'rowmill.json');
    writeFileSync(file, '{"sourcePollMs": 1000}');
    expect(loadSources(file)).toEqual([]);
    expect(loadSources(undefined)).toEqual([]);
    rmSync(folder, { recursive: true });
  });
});

function catchError(work: () => unknown): RowmillError {
  try {
    work();
  } catch (error) {
    return error as RowmillError;
  }
  throw new Error('expected it to be refused');
}
