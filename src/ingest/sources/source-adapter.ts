// What every kind of source can do. An adapter moves bytes and names; who may take a file, and what becomes of it, is
// decided by scan-source.ts and the claim rows.
//
// Where a source can rename, a file goes through these places, always after its claim row says so:
//
//   offered ── hold ──> held (.processing) ── settle ──> .done | .failed
//      ^                    │
//      └───── giveBack ─────┘   it is not the file that was claimed, or it changed while it was read

/** A file that can be taken now. */
export interface SourceFile {
  /** Path and fingerprint: the same name with other content is another file. */
  fileId: string;
  /** From the root of the source. Text from outside: never a path on this machine. */
  path: string;
  /** The last part of the path. */
  name: string;
  bytes: number;
  modifiedMs: number;
}

/** A file that some poller moved into `.processing`. */
export interface HeldFile extends SourceFile {
  /** How long it has been there, as far as that is known. */
  heldMs: number;
}

export interface SourceLook {
  /** The oldest first. */
  offered: SourceFile[];
  held: HeldFile[];
  /** File ids of those that may still be being written. */
  waiting: string[];
  /** What stands where files are expected and is never taken: links, devices, names that cannot be used. */
  refused: { path: string; reason: string }[];
}

export interface OpenedSourceFile {
  bytes: AsyncIterable<Buffer>;
  /** Whether it still is the file that was claimed: asked after the last byte. */
  unchanged(): Promise<boolean>;
  close(): Promise<void>;
}

export type Settlement = { state: 'done' } | { state: 'failed'; reason: string };

export interface SourceAdapter {
  /** For people, without credentials. */
  readonly description: string;
  /** Connects where needed. SOURCE_UNAVAILABLE when the source cannot be read. */
  look(signal: AbortSignal): Promise<SourceLook>;
  /** Moves an offered file to where only this program looks. False when it is gone, or is no longer this file. */
  hold(file: SourceFile): Promise<boolean>;
  /** Opens a file that `hold` answered true for. */
  open(file: SourceFile, signal: AbortSignal): Promise<OpenedSourceFile>;
  /** Puts a file where finished ones go, wherever it is now. Repeating it does no harm. */
  settle(file: SourceFile, settlement: Settlement): Promise<void>;
  /** Makes a held file an offered one again. Repeating it does no harm. */
  giveBack(file: SourceFile): Promise<void>;
  /** Ends connections; the next look opens them again. */
  disconnect(): Promise<void>;
}
