// Every setting with its default, its bounds and the reason. docs/configuration.md lists the same keys; a test keeps the two
// equal.

interface NumberSetting {
  default: number;
  min: number;
  max: number;
  why: string;
}

/** Key in files and code; the environment variable is the same in upper snake case. */
export const NUMBER_SETTINGS = {
  claimMin: { default: 1, min: 1, max: 100_000, why: 'Fewest items a worker asks for at once.' },
  claimMax: { default: 5000, min: 1, max: 100_000, why: 'Most items a worker asks for at once.' },
  claimConcurrency: {
    default: 4,
    min: 1,
    max: 32,
    why: 'Claims that one phase of a worker may have under way at once.',
  },
  claimMaxBytes: {
    default: 16_777_216,
    min: 1024,
    max: 268_435_456,
    why: 'Most input bytes one claim may bring into memory; at least one item always comes.',
  },
  workerTargetSliceMs: {
    default: 5000,
    min: 10,
    max: 600_000,
    why: 'How long one claim should keep the slots of a phase busy.',
  },
  safetyFactor: {
    default: 0.7,
    min: 0.05,
    max: 1,
    why: 'Part of the slice that is planned for, so that claims do not overrun.',
  },
  lockFloorMs: {
    default: 30_000,
    min: 200,
    max: 3_600_000,
    why: 'Shortest lease: how soon a dead worker is noticed.',
  },
  lockCapMs: {
    default: 600_000,
    min: 200,
    max: 86_400_000,
    why: 'Longest lease, however slow the items are.',
  },
  watchdogMs: {
    default: 60_000,
    min: 100,
    max: 86_400_000,
    why: 'A main loop that has not turned for this long counts as stuck: its leases are no longer renewed.',
  },
  flushMaxItems: { default: 5000, min: 1, max: 100_000, why: 'Outcomes in one flush, at the most.' },
  flushMaxBytes: {
    default: 8_388_608,
    min: 1024,
    max: 536_870_912,
    why: 'Bytes of outcomes that start a flush.',
  },
  flushMaxDelayMs: {
    default: 200,
    min: 1,
    max: 60_000,
    why: 'Longest time an outcome waits for others before it is written.',
  },
  flushConcurrency: { default: 2, min: 1, max: 16, why: 'Flushes a worker process has under way at once.' },
  flushBacklogItems: {
    default: 20_000,
    min: 1,
    max: 1_000_000,
    why: 'Outcomes not yet written at which a worker stops claiming: back-pressure acts at the claim.',
  },
  itemTimeoutMs: {
    default: 60_000,
    min: 1,
    max: 86_400_000,
    why: 'Time for one handler call unless the phase says otherwise.',
  },
  rampStarts: {
    default: 0,
    min: 0,
    max: 10_000,
    why: 'Calls that a phase of a process which starts begins per cycle, until each slot had one; 0: all at once.',
  },
  rampCycleMs: { default: 1000, min: 10, max: 600_000, why: 'Length of the cycle of rampStarts.' },
  zombieHandlersMax: {
    default: 100,
    min: 1,
    max: 100_000,
    why: 'Aborted handlers of a process that never returned; past it a fresh process is asked for.',
  },
  resultMaxBytes: {
    default: 1_048_576,
    min: 1024,
    max: 200_000_000,
    why: 'Largest result of one item, as JSON.',
  },
  maxAttemptsError: {
    default: 5,
    min: 1,
    max: 100,
    why: 'Calls for an item that fails with passing errors.',
  },
  maxAttemptsNotFound: { default: 2, min: 1, max: 100, why: 'Calls for an item that is not found.' },
  pollMinMs: { default: 50, min: 5, max: 60_000, why: 'First wait of a worker that found nothing to do.' },
  pollMaxMs: {
    default: 2000,
    min: 10,
    max: 600_000,
    why: 'Longest wait of an idle worker between two looks.',
  },
  sweepMs: {
    default: 5000,
    min: 50,
    max: 600_000,
    why: 'How often expired leases and unfinished endings are looked for.',
  },
  controlLookMs: {
    default: 250,
    min: 20,
    max: 60_000,
    why: 'How often a worker looks whether a job it works on was paused or cancelled.',
  },
  heartbeatMs: { default: 15_000, min: 100, max: 600_000, why: 'How often a worker says that it is alive.' },
  foldAfterMs: {
    default: 120_000,
    min: 0,
    max: 86_400_000,
    why: 'Age at which ledger rows are folded into minutes.',
  },
  finalizeLeaseMs: {
    default: 30_000,
    min: 200,
    max: 3_600_000,
    why: 'Lease of the process that writes a summary.',
  },
  drainMs: {
    default: 10_000,
    min: 0,
    max: 3_600_000,
    why: 'Time that running items get at a graceful shutdown.',
  },
  sliceMaxMs: {
    default: 300_000,
    min: 1,
    max: 3_600_000,
    why: 'Longest time slice that may be asked for.',
  },
  sliceGraceMs: {
    default: 1000,
    min: 0,
    max: 600_000,
    why: 'Time that items which run at the end of a time slice get before they are aborted.',
  },
  databaseDeadlineMs: {
    default: 30_000,
    min: 100,
    max: 3_600_000,
    why: 'A statement or transaction without an answer for this long has its connection destroyed.',
  },
  ingestMinRows: {
    default: 64,
    min: 1,
    max: 100_000,
    why: 'Rows of the first ingest batch, and what batches shrink to when the database is slow.',
  },
  ingestMaxRows: { default: 10_000, min: 1, max: 100_000, why: 'Rows in one ingest batch, at the most.' },
  ingestMaxBatchBytes: {
    default: 8_388_608,
    min: 1024,
    max: 536_870_912,
    why: 'Bytes in one ingest batch, at the most.',
  },
  dbP50Ms: {
    default: 250,
    min: 1,
    max: 60_000,
    why: 'Ingest batches grow only while half of them commit within this time.',
  },
  dbP95Ms: {
    default: 1000,
    min: 1,
    max: 600_000,
    why: 'Ingest batches shrink when one in twenty takes longer than this.',
  },
  ingestLeaseMs: {
    default: 30_000,
    min: 200,
    max: 3_600_000,
    why: 'An ingest that stored nothing for this long is taken over by another process.',
  },
  ingestMaxRejectedRows: {
    default: 10_000,
    min: 0,
    max: 10_000_000,
    why: 'A file with more malformed rows than this is refused: it was read wrongly.',
  },
  ingestMaxColumns: { default: 2000, min: 1, max: 10_000, why: 'Columns of a file, at the most.' },
  ingestMaxCellBytes: {
    default: 10_485_760,
    min: 1,
    max: 67_108_864,
    why: 'A row with a larger cell is rejected.',
  },
  ingestMaxRowBytes: {
    default: 16_777_216,
    min: 64,
    max: 67_108_864,
    why: 'A larger row is rejected; also how far a quote that is never closed is followed.',
  },
  uploadMaxBytes: {
    default: 2_147_483_648,
    min: 1,
    max: 5_000_000_000_000,
    why: 'A larger file is refused while it arrives.',
  },
  inflateMaxBytes: {
    default: 4_294_967_296,
    min: 1024,
    max: 5_000_000_000_000,
    why: 'A compressed file that inflates to more than this is refused; declared sizes are not believed.',
  },
  inflateMaxRatio: {
    default: 200,
    min: 2,
    max: 1100,
    why: 'A compressed file that inflates more than this many times, after its first MiB, is refused.',
  },
  archiveMaxEntries: {
    default: 20_000,
    min: 1,
    max: 1_000_000,
    why: 'Entries of a zip or workbook, at the most.',
  },
  xlsxMemoryMb: {
    default: 1024,
    min: 64,
    max: 32_768,
    why: 'Memory of the thread that reads or writes a workbook; a workbook that needs more is refused.',
  },
  imageMaxBytes: { default: 26_214_400, min: 1, max: 1_073_741_824, why: 'A larger image is rejected.' },
  imageMaxPixels: {
    default: 50_000_000,
    min: 1,
    max: 1_000_000_000,
    why: 'An image whose header claims more pixels is rejected.',
  },
  sourcePollMs: {
    default: 5000,
    min: 50,
    max: 86_400_000,
    why: 'How often `rowmill watch` looks at a source.',
  },
  sourceStableMs: {
    default: 2000,
    min: 0,
    max: 86_400_000,
    why: 'A file of a source is taken when its size and time stood still for this long.',
  },
  sourceMaxFiles: { default: 1000, min: 1, max: 1_000_000, why: 'Files one scan takes from a source.' },
  resultMaxColumns: {
    default: 500,
    min: 1,
    max: 10_000,
    why: 'Different keys of results that get a column of their own in grids and exports.',
  },
  exportPageRows: { default: 2000, min: 1, max: 100_000, why: 'Rows that one statement of an export reads.' },
  reprocessMaxAttempts: {
    default: 50,
    min: 1,
    max: 30_000,
    why: 'Reprocessing leaves out items that were tried this often over all generations: a click costs no endless money.',
  },
  reprocessWaitMs: {
    default: 30_000,
    min: 0,
    max: 3_600_000,
    why: 'How long a reprocess waits for a job whose output files are just being written.',
  },
  pressureFlushMs: {
    default: 2000,
    min: 1,
    max: 3_600_000,
    why: 'Flushes that take longer (p95) make a worker take on less.',
  },
  pressurePoolWaitMs: {
    default: 1000,
    min: 1,
    max: 3_600_000,
    why: 'Waiting longer than this for a database connection makes a worker take on less.',
  },
  pressureLoopDelayMs: {
    default: 500,
    min: 1,
    max: 3_600_000,
    why: 'An event loop that is later than this (p99) makes a worker take on less.',
  },
  pressureMemory: {
    default: 0.85,
    min: 0.05,
    max: 1,
    why: 'A heap that is filled beyond this part of its limit makes a worker take on less.',
  },
  pressureLoad: {
    default: 16,
    min: 0.1,
    max: 10_000,
    why: 'A machine with a higher load per core makes a worker take on less.',
  },
  resourceSyncMs: {
    default: 250,
    min: 10,
    max: 10_000,
    why: 'How often a worker that uses a resource syncs its permits; overrides are heard of with it.',
  },
  resourceLeaseMs: {
    default: 10_000,
    min: 500,
    max: 600_000,
    why: 'Permits of a worker that does not sync are free for others after this time.',
  },
  resourceRunToOpen: {
    default: 20,
    min: 1,
    max: 100_000,
    why: 'Failures in a row after which a service is left alone for a while.',
  },
  resourceFirstConcurrency: {
    default: 10,
    min: 1,
    max: 100_000,
    why: 'Calls at once with which the limit of a resource is looked for that has none declared.',
  },
  resourceMaxConcurrency: {
    default: 1000,
    min: 1,
    max: 100_000,
    why: 'Calls at once, over all processes, for a resource that has no concurrency declared.',
  },
  resourceKeepMs: {
    default: 3_600_000,
    min: 1000,
    max: 2_592_000_000,
    why: 'What was learned of a key that nobody uses is forgotten after this time.',
  },
  emitMaxDepth: {
    default: 10,
    min: 1,
    max: 1000,
    why: 'How far from the input emitted items may be; deeper ones are left out and counted.',
  },
  emitMaxItems: {
    default: 1_000_000,
    min: 1,
    max: 1_000_000_000,
    why: 'Items of a job, at the most, before emitted ones are left out and counted.',
  },
  emitMaxPerItem: {
    default: 10_000,
    min: 1,
    max: 1_000_000,
    why: 'Items that one call may emit; more fails the call.',
  },
  finalizeRetryMaxMs: {
    default: 60_000,
    min: 100,
    max: 86_400_000,
    why: 'Longest wait before output files are tried again while the blob store is down.',
  },
  blobLeftoverMs: {
    default: 86_400_000,
    min: 3_600_000,
    max: 31_536_000_000,
    why: 'Age at which unfinished and unreferenced files in the blob store are deleted.',
  },
} as const satisfies Record<string, NumberSetting>;

/** Settings that are text. */
export const TEXT_SETTINGS = {
  blobStore: {
    default: '.rowmill/blobs',
    why: 'Where uploaded files and output files are kept: a folder, or s3://bucket/prefix?endpoint=…&region=…',
  },
} as const satisfies Record<string, { default: string; why: string }>;
