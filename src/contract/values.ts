// Values that many routes share, as they stand in a query or a body.
import { z } from 'zod';
import { JOB_OUTCOMES } from '../core/jobs/job-outcome.ts';
import { JOB_STATES } from '../core/jobs/job-state.ts';
import { ITEM_STATUSES } from '../core/items/outcome.ts';

export const PAGE_SIZE_DEFAULT = 50;
export const PAGE_SIZE_MAX = 200;
const SHORT_PAGE_MAX = 1000;

export const jobId = z.uuid();
export const seq = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Counted from 1, as wide as the database has it. */
export const generation = z.coerce.number().int().min(1).max(2_147_483_647);
/** Numbers of rows in a body. Clients that keep ids as texts may send them so. */
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
/** Anything that JSON can hold. */
export const json = z.json();
export const jsonObject = z.record(z.string(), z.json());
/** A row in a body: its values come out of JSON and are not walked again, which takes seconds where they are millions. */
export const row = z.record(z.string(), z.unknown());

/** In a query a list is one text with commas, or the parameter again and again. */
export function listOf<Item extends z.ZodType<string, string>>(item: Item) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((given) => (Array.isArray(given) ? given : given.split(',')).filter((each) => each !== ''))
    .pipe(z.array(item).min(1).max(50));
}

export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

export const jobState = z.enum(JOB_STATES);

/** Outcome of a finished job. */
export const jobOutcome = z.enum(JOB_OUTCOMES);

/** Of a row in lists and exports. */
export const rowStatus = z.enum(['PENDING', ...ITEM_STATUSES]);
/** The same, and rows that a worker has. */
export const liveStatus = z.enum(['PENDING', 'PROCESSING', ...ITEM_STATUSES]);
export const itemStatus = z.enum(ITEM_STATUSES);
/** Of a row that has not ended. */
export const pendingStatus = z.enum(['PENDING', 'PROCESSING', 'RETRYING', 'HELD']);

export const jobParams = z.object({ jobId });

/** Opaque and signed: `next` or `previous` of another page. Holds names of entries, and so may be long. */
const cursor = z.string().min(1).max(10_000).optional();
const limit = z.coerce.number().int().min(1);
const aliasOf = (name: string) => ({ deprecated: true, description: `Another name of ${name}.` });

/** The first names of paging parameters, and the ones that they are read as. */
export const PAGE_ALIASES = { pageSize: 'limit', after: 'cursor' } as const;
const aliases = {
  pageSize: limit.optional().meta(aliasOf('limit')),
  after: cursor.meta(aliasOf('cursor')),
};

/** Query of a list that may be long. */
export const page = { limit: limit.max(PAGE_SIZE_MAX).default(PAGE_SIZE_DEFAULT), cursor, ...aliases };
/** Query of a short list, answered whole by default. Its route has `pagedBy`. */
export const shortPage = { limit: limit.max(SHORT_PAGE_MAX).default(SHORT_PAGE_MAX), cursor, ...aliases };

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    /** For `cursor`; null on the last page. Servers that had no pages of this list left it out. */
    next: z.string().nullable().default(null),
    /** For `cursor`; null on the first page. */
    previous: z.string().nullable().default(null),
  });
}

/** Which rows of a job: of a list, an export, a reprocess. */
export const rowFilterQuery = {
  statuses: listOf(rowStatus).optional(),
  phase: z.coerce.number().int().min(0).max(1000).optional(),
  errorGroup: z.string().min(1).max(500).optional(),
  search: z.string().min(1).max(1000).optional(),
};
