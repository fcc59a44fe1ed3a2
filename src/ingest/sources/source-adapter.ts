// The interface of every kind of source. An adapter moves bytes and names. scan-source.ts and the claim rows decide
// which poller takes a file, and the outcome.
//
// If a source can rename, a file moves through these folders, each time after its claim row is written:
//
//   offered ── hold ──> held (.processing) ── settle ──> .done | .failed
//      ^                    │
//      └───── giveBack ─────┘   it is not the file that was claimed, or it changed while it was read

/** A file that can be taken now. */
export interface SourceFile {
  /** Path and fingerprint: the same name with other content is a different file. */
  fileId: string;
  /** Relative to the root of the source. Untrusted text: never use it as a local path. */
  path: string;
  /** The last part of the path. */
  name: string;
  bytes: number;
  modifiedMs: number;
}

/** A file that a poller moved into `.processing`. */
export interface HeldFile extends SourceFile {
  /** How long it has been there, if known. */
  heldMs: number;
}

export interface SourceLook {
  /** Oldest first. */
  offered: SourceFile[];
  held: HeldFile[];
  /** Ids of files that may still be written to. */
  waiting: string[];
  /** Entries that are never taken: links, devices, unusable names. */
  refused: { path: string; reason: string }[];
}

export interface OpenedSourceFile {
  bytes: AsyncIterable<Buffer>;
  /** Whether it is still the file that was claimed; called after the last byte. */
  unchanged(): Promise<boolean>;
  close(): Promise<void>;
}

export type Settlement = { state: 'done' } | { state: 'failed'; reason: string };

export interface SourceAdapter {
  /** Shown to people; contains no credentials. */
  readonly description: string;
  /** Connects if necessary. Throws SOURCE_UNAVAILABLE if the source cannot be read. */
  look(signal: AbortSignal): Promise<SourceLook>;
  /** Moves an offered file to a folder that only Rowmill uses. False if the file is gone or was replaced. */
  hold(file: SourceFile): Promise<boolean>;
  /** Opens a file for which `hold` returned true. */
  open(file: SourceFile, signal: AbortSignal): Promise<OpenedSourceFile>;
  /** Moves a file, offered or held, to the folder of its outcome. Idempotent. */
  settle(file: SourceFile, settlement: Settlement): Promise<void>;
  /** Makes a held file available again. Idempotent. */
  giveBack(file: SourceFile): Promise<void>;
  /** Closes connections; the next poll opens them again. */
  disconnect(): Promise<void>;
}
