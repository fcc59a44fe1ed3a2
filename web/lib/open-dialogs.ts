// Dialogs that are open, the last on top. The library gives Escape to whatever appeared last, and a message in the corner
// that appears over an open dialog is not what somebody wants to leave.

const open: (() => void)[] = [];

/** Returns what takes it off again. */
export function addOpenDialog(close: () => void): () => void {
  open.push(close);
  return () => void open.splice(open.indexOf(close), 1);
}

/** False when there is none. */
export function closeTopDialog(): boolean {
  open.at(-1)?.();
  return open.length > 0;
}
