// A new job and the preview of its file: the options of either, and how the file would be read.
import { z } from 'zod';
import { JOB_OUTPUTS } from '../core/files/output-format.ts';
import { jobId, jsonObject, name, ownerId, row } from './values.ts';

const amount = z.number().min(0).max(1e15);

export const formatOptions = z
  .strictObject({
    format: z.enum(['csv', 'xlsx', 'jsonl', 'json', 'urls', 'images']).optional(),
    encoding: z.string().min(1).max(50).optional(),
    delimiter: z.string().max(10).optional(),
    quote: z.string().max(1).optional(),
    escape: z.string().max(1).optional(),
    header: z.boolean().optional(),
    skipLines: z.number().int().min(0).max(1_000_000).optional(),
    columns: z.array(z.string().max(1000)).max(10_000).optional(),
    shortRows: z.enum(['reject', 'pad']).optional(),
    sheet: z.string().max(100).optional(),
  })
  .meta({ id: 'FormatOptions', description: 'What is known about the file; the rest is found out.' });

/** Field of the pipeline's input to column of the file. */
export const mapping = z.record(z.string().max(500), z.string().max(1000));

export const budget = z.strictObject({
  max: amount.nullable().optional(),
  perItem: amount.nullable().optional(),
});

/** Options of a new job, whatever its rows come from. */
const newJobOptions = {
  /** May be left out where one pipeline is meant: the only one of the server, or the only one that an uploaded file fits. */
  pipeline: name.optional(),
  name: name.optional(),
  /** Team or account it belongs to. Default: the caller's team, else the caller. */
  ownerId: ownerId.optional(),
  params: jsonObject.optional(),
  priority: z.number().int().min(-30_000).max(30_000).optional(),
  outputs: z.array(z.enum(JOB_OUTPUTS)).max(JOB_OUTPUTS.length).optional(),
  /** Created paused: nothing runs before it is resumed. */
  hold: z.boolean().optional(),
  /** Run the first so many rows, hold the rest until resumed. */
  trial: z.number().int().min(1).optional(),
  budget: budget.optional(),
  /** Fields that name a row. */
  key: z.array(z.string().min(1).max(500)).max(20).optional(),
};

const fileOptions = {
  format: formatOptions.optional(),
  mapping: mapping.optional(),
  /** A new job, although the same file may have one. */
  again: z.boolean().optional(),
  /** The job that this file corrects. */
  updatesJobId: jobId.optional(),
};

export const newJob = z
  .strictObject({
    ...newJobOptions,
    ...fileOptions,
    /** Rows themselves. One of items, source, or the part `file` of a multipart body. */
    items: z.array(row).max(100_000).optional(),
    /** With items: more will follow, until `seal`. */
    open: z.boolean().optional(),
    /** A file of a configured source. */
    source: z.strictObject({ name, path: z.string().min(1).max(2000) }).optional(),
    /** A file that was sent in parts. With its checksum another file is refused. */
    upload: z
      .strictObject({
        uploadId: z.uuid(),
        sha256: z
          .string()
          .regex(/^[0-9a-f]{64}$/)
          .optional(),
      })
      .optional(),
  })
  .meta({ id: 'NewJob' });

export const createdJob = z.object({ jobId, created: z.boolean() }).meta({ id: 'CreatedJob' });

export const preview = z
  .object({
    file: z.object({ name: z.string(), bytes: z.number() }),
    /** How it is read: format, dialect, encoding, sheets, warnings. */
    detected: z.looseObject({ format: z.string(), warnings: z.array(z.string()) }),
    columns: z.array(
      z.object({
        /** As it stands in the file. */
        header: z.string(),
        /** Field of the pipeline it goes to; null: it is not stored. */
        field: z.string().nullable(),
      }),
    ),
    /** Fields of the pipeline without a column, and which columns could be meant. */
    missing: z.array(
      z.object({ field: z.string(), required: z.boolean(), suggestions: z.array(z.string()) }),
    ),
    rows: z.array(
      z.object({
        line: z.number(),
        input: jsonObject.nullable(),
        /** Why it would be refused or fail at once; what was repaired. */
        problems: z.array(z.object({ field: z.string().nullable(), message: z.string() })),
      }),
    ),
    /** Counts of the rows in the preview. */
    looked: z.object({ rows: z.number(), withProblems: z.number(), wholeFile: z.boolean() }),
    /** The rows that would not run, among more rows than are looked at; bounded in rows and time. */
    checked: z.object({
      rows: z.number(),
      /** Cannot be read; will not be stored. */
      rejected: z.number(),
      /** Refused by the pipeline's input; will be stored and fail at once. */
      refused: z.number(),
      /** The first few. */
      reasons: z.array(z.object({ line: z.number(), reason: z.string() })),
      wholeFile: z.boolean(),
      /** The bound that ended the check before the file did. */
      stoppedBy: z.enum(['rows', 'time']).nullable(),
    }),
  })
  .meta({ id: 'Preview' });
