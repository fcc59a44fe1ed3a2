// A new job and the preview of its file: options of both, and how the file would be read.
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
  .meta({ id: 'FormatOptions', description: 'Known properties of the file; the others are detected.' });

/** Maps fields of the pipeline's input to columns of the file; empty text: to none. */
export const mapping = z.record(z.string().max(500), z.string().max(1000));

export const budget = z.strictObject({
  max: amount.nullable().optional(),
  perItem: amount.nullable().optional(),
});

/** Options of a new job, independent of where its rows come from. */
const newJobOptions = {
  /**
   * May be left out if it is unambiguous: the server has only one pipeline, or the uploaded file matches only one.
   */
  pipeline: name.optional(),
  name: name.optional(),
  /** Team or account that owns the job. Default: the caller's team, or else the caller. */
  ownerId: ownerId.optional(),
  params: jsonObject.optional(),
  priority: z.number().int().min(-30_000).max(30_000).optional(),
  outputs: z.array(z.enum(JOB_OUTPUTS)).max(JOB_OUTPUTS.length).optional(),
  /** Creates the job paused: nothing runs until it is resumed. */
  hold: z.boolean().optional(),
  /** Runs this many rows first and holds the rest until the job is resumed. */
  trial: z.number().int().min(1).optional(),
  budget: budget.optional(),
  /** Fields that identify a row. */
  key: z.array(z.string().min(1).max(500)).max(20).optional(),
};

const fileOptions = {
  format: formatOptions.optional(),
  mapping: mapping.optional(),
  /** Creates a new job even if the same file already has one. */
  again: z.boolean().optional(),
  /** The job that this file corrects. */
  updatesJobId: jobId.optional(),
};

export const newJob = z
  .strictObject({
    ...newJobOptions,
    ...fileOptions,
    /** Inline rows. Provide either items, source, upload, or the part `file` of a multipart body. */
    items: z.array(row).max(100_000).optional(),
    /** With items: more items follow, until `seal`. */
    open: z.boolean().optional(),
    /** A file of a configured source. */
    source: z.strictObject({ name, path: z.string().min(1).max(2000) }).optional(),
    /** A file that was uploaded in parts. If the checksum is given, a different file is refused. */
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

const range = z.object({ low: z.number(), high: z.number() });

const previewedRow = z.object({
  line: z.number(),
  input: jsonObject.nullable(),
  /** Text of a line that cannot be read, cut; null for other rows. */
  raw: z.string().nullable(),
  /** Why the row would be rejected or fail immediately, and what was repaired. */
  problems: z.array(
    z.object({
      field: z.string().nullable(),
      message: z.string(),
      /** Equal for rows with the same problem: the message without the value. */
      kind: z.string(),
    }),
  ),
});

const rowCheck = z.object({
  rows: z.number(),
  /** Unreadable rows, which will not be stored. */
  rejected: z.number(),
  /** Rows that the pipeline's input schema refuses; they will be stored and fail immediately. */
  refused: z.number(),
  /** Rows by kind of problem, the most frequent first; at most 101. */
  kinds: z.array(z.object({ field: z.string().nullable(), kind: z.string(), rows: z.number() })),
  /** The first few reasons. */
  reasons: z.array(z.object({ line: z.number(), reason: z.string() })),
  wholeFile: z.boolean(),
  /** The limit that stopped the check before the end of the file. */
  stoppedBy: z.enum(['rows', 'time']).nullable(),
});

/** One line of the answer of a check. */
export const checkReport = z
  .object({
    checked: rowCheck,
    /** Rows with problems since the line before; at most 10,000 in all. */
    problemRows: z.array(previewedRow),
    /** True in the last line. */
    isEnd: z.boolean(),
  })
  .meta({ id: 'CheckReport' });

export const preview = z
  .object({
    file: z.object({ name: z.string(), bytes: z.number() }),
    /** Format, dialect, encoding, sheets, warnings. */
    detected: z.looseObject({ format: z.string(), warnings: z.array(z.string()) }),
    /** The first rows as they are in the file, to choose the sheet and the header row; null if it is not a table. */
    top: z
      .object({
        rows: z.array(z.object({ line: z.number(), cells: z.array(z.string()) })),
        /** Lines that name the columns: none, one or two. */
        headerLines: z.array(z.number()),
        /** Why the file would be refused with this header row and sheet; null if it would be read. */
        refusal: z.string().nullable(),
        sheets: z
          .array(
            z.object({
              name: z.string(),
              rows: z.number(),
              /** False if `rows` is what the sheet declares. */
              isCounted: z.boolean(),
              isHidden: z.boolean(),
            }),
          )
          .optional(),
      })
      .nullable(),
    columns: z.array(
      z.object({
        /** As in the file. */
        header: z.string(),
        /** Field of the pipeline's input that the column maps to; null if it is not stored. */
        field: z.string().nullable(),
        /** Confidence of the match with a field of the pipeline; null if the column matches none. */
        match: z.enum(['given', 'sure', 'likely', 'guess']).nullable(),
      }),
    ),
    /** Fields of the pipeline without a column, and columns that could match. */
    missing: z.array(
      z.object({ field: z.string(), required: z.boolean(), suggestions: z.array(z.string()) }),
    ),
    rows: z.array(previewedRow),
    /** The first rows with problems among the checked rows, at most 1,000. */
    problemRows: z.array(previewedRow),
    /** Counts over the rows of the preview. */
    looked: z.object({ rows: z.number(), withProblems: z.number(), wholeFile: z.boolean() }),
    /** Rows that would not run, among more rows than the preview shows; limited in rows and time. */
    checked: rowCheck,
    /** Expected cost and speed of a job, from recent jobs of the pipeline; null without a pipeline. */
    estimate: z
      .object({
        costPerRow: range.nullable(),
        /** `pipeline`: the cost that its phases declare. */
        costFrom: z.enum(['jobs', 'pipeline']).nullable(),
        /** Null also if the pipeline is free. */
        costUnknownBecause: z.string().nullable(),
        rowsPerSecond: range.nullable(),
        speedUnknownBecause: z.string().nullable(),
        /** Recent jobs that the estimate is from. */
        jobs: z.number(),
      })
      .nullable(),
  })
  .meta({ id: 'Preview' });
