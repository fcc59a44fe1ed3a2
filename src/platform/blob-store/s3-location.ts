// Parses the location of an S3 store: s3://bucket/prefix?endpoint=…&region=…&pathStyle=true. A text with credentials is
// refused, and the error does not repeat it.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { withoutTrailing } from '../../core/files/without-trailing.ts';
import { isBlobKey } from './blob-key.ts';

export interface S3Location {
  bucket: string;
  /** Empty, or ends with a slash. */
  prefix: string;
  /** For stores other than AWS. */
  endpoint?: string;
  region?: string;
  pathStyle?: boolean;
}

const SHAPE = 's3://bucket/prefix?endpoint=…&region=…&pathStyle=true|false';
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/;
const PARAMETERS = ['endpoint', 'region', 'pathStyle'];
const CREDENTIAL = /key|secret|token|password|credential|signature/i;
const MAX_PREFIX_LENGTH = 200;

export function parseS3Location(text: string): S3Location {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 's3:') throw invalid('another form');
  if (url.username || url.password) throw credentials();
  for (const name of url.searchParams.keys()) {
    if (PARAMETERS.includes(name)) continue;
    if (CREDENTIAL.test(name)) throw credentials();
    throw invalid(`the unknown parameter ${name}`);
  }
  if (!BUCKET.test(url.host)) throw invalid(`the bucket ${JSON.stringify(url.host)}`);

  const folder = withoutTrailing(url.pathname.replace(/^\/+/, ''), '/');
  if (folder !== '' && (!isBlobKey(folder) || folder.length > MAX_PREFIX_LENGTH)) {
    throw invalid(`the prefix ${JSON.stringify(folder)}; use letters, digits, '.', '_', '-' and '/'`);
  }
  const endpoint = url.searchParams.get('endpoint');
  const region = url.searchParams.get('region');
  const pathStyle = url.searchParams.get('pathStyle');
  if (pathStyle !== null && pathStyle !== 'true' && pathStyle !== 'false') {
    throw invalid(`pathStyle=${pathStyle}`);
  }
  return {
    bucket: url.host,
    prefix: folder === '' ? '' : `${folder}/`,
    ...(endpoint === null ? {} : { endpoint: checkEndpoint(endpoint) }),
    ...(region === null ? {} : { region }),
    ...(pathStyle === null ? {} : { pathStyle: pathStyle === 'true' }),
  };
}

function checkEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.username || url?.password) throw credentials();
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    throw invalid(`an endpoint that is not http://host:port or https://host:port`);
  }
  return url.href.replace(/\/$/, '');
}

function invalid(got: string): RowmillError {
  return new RowmillError('BLOB_STORE_INVALID', `expected the blob store to be ${SHAPE}, got ${got}`);
}

function credentials(): RowmillError {
  return new RowmillError(
    'BLOB_STORE_INVALID',
    `expected the blob store to be ${SHAPE} without credentials, got credentials`,
    {
      hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use ~/.aws or the role of the machine.',
    },
  );
}
