// The schema of sources in the settings file, checked before any connection is opened. Secrets are never in the file:
// it names the environment variables that hold them.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { didYouMean } from '../../core/errors/did-you-mean.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { FormatOptions } from '../../core/files/file-format.ts';
import { configFileFromEnvironment } from '../../platform/environment.ts';

const text = z.string().min(1);
const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'the name of an environment variable' });
const port = z.int().min(1).max(65_535);

const formatOptions = z.strictObject({
  format: z.enum(['csv', 'xlsx', 'jsonl', 'json', 'urls', 'images']).exactOptional(),
  encoding: text.exactOptional(),
  delimiter: text.exactOptional(),
  quote: z.string().max(1).exactOptional(),
  escape: z.string().length(1).exactOptional(),
  header: z.boolean().exactOptional(),
  skipLines: z.int().min(0).exactOptional(),
  columns: z.array(text).exactOptional(),
  shortRows: z.enum(['reject', 'pad']).exactOptional(),
  sheet: text.exactOptional(),
}) satisfies z.ZodType<FormatOptions>;

const common = {
  // The name is a permanent part of each file's identity, and appears in logs.
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
    error: 'at most 100 letters, digits, dots, dashes and underscores',
  }),
  pipeline: text,
  owner: text.exactOptional(),
  params: z.record(z.string(), z.unknown()).exactOptional(),
  format: formatOptions.exactOptional(),
  /** Column of the file for each field of the pipeline's input. */
  mapping: z.record(z.string(), text).exactOptional(),
  include: z
    .array(z.string().regex(/^[^/]+$/, { error: 'a pattern for names, without a slash' }))
    .min(1)
    .exactOptional(),
  stableMs: z.int().min(0).max(86_400_000).exactOptional(),
  pollMs: z.int().min(50).max(86_400_000).exactOptional(),
};

const prefix = z.string().regex(/^(?!\/).*$/s, { error: 'a prefix without a leading slash' });
const folderPrefix = z.string().regex(/^(?!\/).+\/$/s, { error: 'a prefix that ends with a slash' });

const folder = z.strictObject({
  ...common,
  kind: z.literal('folder'),
  path: text,
  recursive: z.boolean().exactOptional(),
});

const s3 = z.strictObject({
  ...common,
  kind: z.literal('s3'),
  bucket: text,
  prefix: prefix.default(''),
  endpoint: z.url({ protocol: /^https?$/, error: 'an http or https address' }).exactOptional(),
  region: text.exactOptional(),
  pathStyle: z.boolean().exactOptional(),
  move: z.strictObject({ done: folderPrefix, failed: folderPrefix }).exactOptional(),
  accessKeyIdEnv: variable.exactOptional(),
  secretAccessKeyEnv: variable.exactOptional(),
});

const ftp = z.strictObject({
  ...common,
  kind: z.literal('ftp'),
  host: text,
  port: port.exactOptional(),
  path: text,
  user: text,
  passwordEnv: variable,
  secure: z.enum(['explicit', 'implicit', 'none']).default('explicit'),
  allowPlain: z.boolean().exactOptional(),
  caFile: text.exactOptional(),
});

const sftp = z.strictObject({
  ...common,
  kind: z.literal('sftp'),
  host: text,
  port: port.exactOptional(),
  path: text,
  user: text,
  passwordEnv: variable.exactOptional(),
  privateKeyFile: text.exactOptional(),
  passphraseEnv: variable.exactOptional(),
  // Optional here. The adapter requires it, and its error shows the fingerprint that the server presents.
  hostKey: z
    .string()
    .regex(/^SHA256:[A-Za-z0-9+/]{43}=?$/, { error: 'a fingerprint such as SHA256:… of 43 characters' })
    .exactOptional(),
});

export type FolderSourceConfig = z.infer<typeof folder>;
export type S3SourceConfig = z.infer<typeof s3>;
export type FtpSourceConfig = z.infer<typeof ftp>;
export type SftpSourceConfig = z.infer<typeof sftp>;
/** A source as it is written, without defaults. */
export type SourceInput = z.input<typeof folder | typeof s3 | typeof ftp | typeof sftp>;
export type SourceConfig = FolderSourceConfig | S3SourceConfig | FtpSourceConfig | SftpSourceConfig;

const KINDS = { folder, s3, ftp, sftp };

/** Keys that people use for secrets, and the keys to use instead. */
const SECRETS: Record<string, string> = {
  password: 'passwordEnv',
  passphrase: 'passphraseEnv',
  privateKey: 'privateKeyFile',
  accessKeyId: 'accessKeyIdEnv',
  secretAccessKey: 'secretAccessKeyEnv',
};

/** The sources of the JSON settings file that --config or ROWMILL_CONFIG names; empty if there are none. */
export function loadSources(file: string | undefined = configFileFromEnvironment()): SourceConfig[] {
  if (file === undefined) return [];
  const { sources } = (readContent(file) ?? {}) as { sources?: unknown };
  return sources === undefined ? [] : parseSources(sources);
}

function readContent(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new RowmillError(
      'SOURCE_INVALID',
      `cannot read sources from ${file}: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

export function parseSources(given: unknown): SourceConfig[] {
  if (!Array.isArray(given) || given.length === 0) {
    throw invalid('sources', 'a list with at least one source', given);
  }
  const sources = given.map((each: unknown, i) => parseSource(each, `sources[${i}]`));
  for (const [i, source] of sources.entries()) {
    const first = sources.findIndex((each) => each.name === source.name);
    if (first !== i)
      throw invalid(`sources[${i}].name`, `different from sources[${first}].name`, source.name);
  }
  return sources;
}

function parseSource(given: unknown, at: string): SourceConfig {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) {
    throw invalid(at, 'an object', given);
  }
  const { kind } = given as { kind?: unknown };
  if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind)) {
    throw invalid(`${at}.kind`, `one of ${Object.keys(KINDS).join(', ')}`, kind);
  }
  for (const [key, instead] of Object.entries(SECRETS)) {
    if (Object.hasOwn(given, key)) {
      throw new RowmillError(
        'SOURCE_INVALID',
        `expected ${at}.${key} to be absent: secrets do not belong in a settings file`,
        {
          hint:
            instead === 'privateKeyFile'
              ? 'Put the key into a file of its own and name the file in privateKeyFile.'
              : `Put it into an environment variable and name that variable in ${instead}.`,
        },
      );
    }
  }
  const schema = KINDS[kind as keyof typeof KINDS];
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw describe(parsed.error.issues[0]!, at, given, Object.keys(schema.shape));
  rejectContradictions(parsed.data, at);
  return parsed.data;
}

function rejectContradictions(source: SourceConfig, at: string): void {
  if (source.kind === 'ftp' && source.secure === 'none' && source.allowPlain !== true) {
    throw new RowmillError(
      'SOURCE_INVALID',
      `expected ${at}.allowPlain to be true for FTP without encryption: anyone on the network path can read the password and the files`,
      { hint: 'Use SFTP or secure: "explicit"; set allowPlain only in a network that you trust.' },
    );
  }
  if (source.kind === 'sftp' && source.passwordEnv === undefined && source.privateKeyFile === undefined) {
    throw invalid(`${at}.passwordEnv or privateKeyFile`, 'set', undefined);
  }
  if (source.kind === 's3') {
    if ((source.accessKeyIdEnv === undefined) !== (source.secretAccessKeyEnv === undefined)) {
      throw invalid(`${at}.accessKeyIdEnv and secretAccessKeyEnv`, 'set together', 'one of them');
    }
    for (const outcome of ['done', 'failed'] as const) {
      // Objects moved there must not be found again.
      const target = source.move?.[outcome];
      if (target?.startsWith(source.prefix)) {
        throw invalid(
          `${at}.move.${outcome}`,
          `outside of the prefix ${JSON.stringify(source.prefix)}`,
          target,
        );
      }
    }
  }
}

function describe(issue: z.core.$ZodIssue, at: string, given: unknown, known: string[]): RowmillError {
  const path = issue.path.reduce<string>(
    (so, key) => so + (typeof key === 'number' ? `[${key}]` : `.${String(key)}`),
    at,
  );
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0]!;
    const keys =
      issue.path[0] === 'format' ? Object.keys(formatOptions.shape) : issue.path.length === 0 ? known : [];
    return new RowmillError('SOURCE_INVALID', `unknown key ${path}.${key}${didYouMean(key, keys)}`);
  }
  const value = issue.path.reduce<unknown>(
    (so, key) => (so as Record<PropertyKey, unknown> | undefined)?.[key],
    given,
  );
  // Our own messages name the expectation; zod's begin with "Invalid" or "Too".
  const expected = /^(Invalid|Too)/.test(issue.message)
    ? `valid (${issue.message.replace(/^Invalid input: /, '')})`
    : issue.message;
  return invalid(path, expected, value);
}

function invalid(path: string, expected: string, got: unknown): RowmillError {
  const shown = got === undefined ? 'nothing' : JSON.stringify(got);
  return new RowmillError('SOURCE_INVALID', `expected ${path} to be ${expected}, got ${shown}`);
}
