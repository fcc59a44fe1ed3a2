// Copies a text to the clipboard. Browsers offer the clipboard API only over secure connections; other pages fall back
// to execCommand, which copies the current selection.

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  // An open dialog traps the focus, so the text area goes inside it.
  (document.querySelector('[role=dialog]') ?? document.body).append(area);
  area.select();
  const worked = document.execCommand('copy');
  area.remove();
  if (!worked)
    throw new Error("Couldn't copy — your browser blocked it. Select the text and copy it manually.");
}
