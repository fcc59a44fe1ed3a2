// Values that many routes share, in queries and bodies.
import { z } from 'zod';
import { MAX_ERROR_GROUPS } from '../core/files/error-group-ref.ts';
import { JOB_OUTCOMES } from '../core/jobs/job-outcome.ts';
import { JOB_STATES } from '../core/jobs/job-state.ts';
import { ITEM_STATUSES } from '../core/items/outcome.ts';
import { MAX_KEEP_DAYS } from '../core/jobs/retention.ts';

export const PAGE_SIZE_DEFAULT = 50;
export const PAGE_SIZE_MAX = 200;
const SHORT_PAGE_MAX = 1000;

export const jobId = z.uuid();
export const seq = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Counted from 1; the maximum of the database column. */
export const generation = z.coerce.number().int().min(1).max(2_147_483_647);
/** Row numbers in a body. Clients that keep ids as strings may send strings. */
export const itemIds = z
  .array(
    z.union([
      z.number().int().min(0),
      z
        .string()
        .regex(/^\d{1,15}$/)
        .transform(Number),
    ]),
  )
  .min(1)
  .max(100_000);
export const time = z.iso.datetime({ offset: true });
export const name = z.string().trim().min(1).max(200);
export const ownerId = z.string().min(1).max(200);
/** Any JSON value. */
export const json = z.json();
export const jsonObject = z.record(z.string(), z.json());
/**
 * A row in a body. Its values were just parsed from JSON and are not validated again, which takes seconds for
 * millions of values.
 */
export const row = z.record(z.string(), z.unknown());

/** In a query, a list is either one comma-separated text or a repeated parameter. */
export function listOf<Item extends z.ZodType<string, string>>(item: Item) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((given) => (Array.isArray(given) ? given : given.split(',')).filter((each) => each !== ''))
    .pipe(z.array(item).min(1).max(50));
}

export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

export const jobState = z.enum(JOB_STATES);

export const jobOutcome = z.enum(JOB_OUTCOMES);

/** Status of a row in lists and exports. */
export const rowStatus = z.enum(['PENDING', ...ITEM_STATUSES]);
/** As `rowStatus`, plus rows that a worker holds. */
export const liveStatus = z.enum(['PENDING', 'PROCESSING', ...ITEM_STATUSES]);
export const itemStatus = z.enum(ITEM_STATUSES);
/** Status of a row without a result. */
export const pendingStatus = z.enum(['PENDING', 'PROCESSING', 'RETRYING', 'HELD']);

export const jobParams = z.object({ jobId });

/** Opaque and signed: `next` or `previous` of another page. It holds names of entries and may be long. */
const cursor = z.string().min(1).max(10_000).optional();
const limit = z.coerce.number().int().min(1);
const aliasOf = (name: string) => ({ deprecated: true, description: `Alias of ${name}.` });

/** Former names of the paging parameters, and the current ones. */
export const PAGE_ALIASES = { pageSize: 'limit', after: 'cursor' } as const;
const aliases = {
  pageSize: limit.optional().meta(aliasOf('limit')),
  after: cursor.meta(aliasOf('cursor')),
};

/** Query of a list that may be long. */
export const page = { limit: limit.max(PAGE_SIZE_MAX).default(PAGE_SIZE_DEFAULT), cursor, ...aliases };
/** Query of a short list, complete by default. Its route has `pagedBy`. */
export const shortPage = { limit: limit.max(SHORT_PAGE_MAX).default(SHORT_PAGE_MAX), cursor, ...aliases };

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    /** For `cursor`; null on the last page. Older servers without pages for this list leave it out. */
    next: z.string().nullable().default(null),
    /** For `cursor`; null on the first page. */
    previous: z.string().nullable().default(null),
  });
}

/** Error groups in a body, each with or without its phase. */
export const errorGroups = z
  .array(
    z.strictObject({
      errorGroup: z.string().min(1).max(500),
      phase: z.number().int().min(0).max(1000).optional(),
    }),
  )
  .min(1)
  .max(MAX_ERROR_GROUPS);

/** Selects rows of a job for a list, an export or a reprocess. */
export const rowFilterQuery = {
  statuses: listOf(rowStatus).optional(),
  phase: z.coerce.number().int().min(0).max(1000).optional(),
  errorGroup: z.string().min(1).max(500).optional(),
  search: z.string().min(1).max(1000).optional(),
};

/** Days that finished jobs are kept; 0 for ever. */
export const keepDays = z.number().int().min(0).max(MAX_KEEP_DAYS);
