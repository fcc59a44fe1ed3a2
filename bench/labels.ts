// The names of the measurements in the printed tables, in their order.

/** Measurements of a contestant besides the drains of the scenarios. */
export const CONTESTANT_LABELS: Record<string, string> = {
  enqueue: 'enqueue, items/s',
  txPerItem: 'transactions per item',
  deadTuplesPerItem: 'dead tuples per item',
  itemsPerCommit: 'items per commit',
  workerCpuUsPerItem: 'processor time of the worker, µs per item',
  serverCpuUsPerItem: 'processor time of the server, µs per item',
  walBytesPerItem: 'WAL bytes per item',
  storedBytesPerItem: 'bytes stored by the drain, per item',
  itemBytesPerItem: 'bytes stored by enqueueing, per item',
  drainLargeWalBytesPerItem: 'results of 1 kB: WAL bytes per item',
  drainLargeStoredBytesPerItem: 'results of 1 kB: bytes stored by the drain',
  drainWithReadersPageMsP99: 'p99 of a page beside the drain, ms',
  finishLagMsP99: 'finish lag p99, ms',
  idleQueriesPerSecond: 'idle statements per second',
};

export const SLOPE_LABELS: Record<string, string> = {
  slopeStartMs: 'rowmill: a drain of no items (a), ms',
  slopePerItemUs: 'rowmill: each item (b), µs',
  slopeBareLoopStartMs: 'bare loop: a drain of no items (a), ms',
  slopeBareLoopPerItemUs: 'bare loop: each item (b), µs',
};

export const PIPELINE_LABELS: Record<string, string> = {
  phases3: 'three phases, items/s',
  emit: 'emitted children, half already known, per second',
  reprocessFailedMs: 'reopen the failed tenth, ms',
  reprocessFailedPerSecond: 'items/s',
  cancelFailedMs: 'cancel that run, ms',
  cancelFailedPerSecond: 'items/s',
  reprocessAllMs: 'reopen all items, ms',
  reprocessAllPerSecond: 'items/s',
  cancelAllMs: 'cancel that run, ms',
  cancelAllPerSecond: 'items/s',
};

export const LIMIT_LABELS: Record<string, string> = {
  permitsPerSecond: 'calls through one resource, four processes, per second',
  limiterOverheadPerItemUs: 'overhead of a resource in one process, µs per item',
  fairnessSmallJobDelayMs: 'job of ten rows beside a large job, ms',
  rateUtilisation: 'share of a rate limit used by four processes',
  concurrencyUtilisation: 'share of a concurrency limit used by four processes',
};

export const COUNTER_LABELS: Record<string, string> = {
  flushPerItemUs: 'flush of 50 rows without counters, µs per row',
  countingFlushPerItemUs: 'flush of 50 rows with a counter each, µs per row',
  counterOverheadPerItemUs: 'difference, µs per row',
  unnest50Ms: 'update of 50 entries with typed arrays, ms',
  case50Ms: 'with CASE, ms',
  whole50Ms: 'all counter work of a flush, ms',
  unnest500Ms: 'update of 500 entries with typed arrays, ms',
  case500Ms: 'with CASE, ms',
  whole500Ms: 'all counter work of a flush, ms',
  caseOfUnnest: 'CASE as a multiple of typed arrays, at 500',
  batchAmongFewMs: '50 contributions among few entities, ms',
  batchAmongManyMs: '50 contributions among many entities, ms',
  manyOfFew: 'many as a multiple of few',
};

export const API_LABELS: Record<string, string> = {
  apiStatus: 'state of a running job, requests/s',
  apiStatusP99Ms: 'p99, ms',
  apiItemsPage: 'pages of 50 rows anywhere in a large job, requests/s',
  apiItemsPageP99Ms: 'p99, ms',
  deepPage: 'last page, as a multiple of the first',
};

export const FILE_LABELS: Record<string, string> = {
  ingestCsv: 'CSV to items, rows/s',
  copyLimit: 'COPY of the same rows, rows/s',
  ingestOfLimit: 'share of COPY',
  ingestCsvPeakMb: 'peak memory, MB',
  exportCsv: 'results to CSV, rows/s',
  exportLimit: 'COPY of the same rows out, rows/s',
  exportOfLimit: 'share of COPY',
  exportCsvPeakMb: 'peak memory, MB',
  exportXlsx: 'results to XLSX, rows/s',
  exportXlsxPeakMb: 'peak memory, MB',
  exportJsonl: 'results to JSON lines, rows/s',
};
