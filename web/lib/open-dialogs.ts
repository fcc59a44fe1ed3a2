// Open dialogs, the topmost last. Radix gives Escape to the element that appeared last, which may be a message over the
// dialog; users mean the dialog.

const open: (() => void)[] = [];

/** Returns a function that removes the dialog. */
export function addOpenDialog(close: () => void): () => void {
  open.push(close);
  return () => void open.splice(open.indexOf(close), 1);
}

/** Returns false when no dialog is open. */
export function closeTopDialog(): boolean {
  open.at(-1)?.();
  return open.length > 0;
}
