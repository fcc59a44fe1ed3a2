// Puts a text into the clipboard. Browsers offer it only to pages that came over a safe connection; the others get the old
// way, which copies what is selected.

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  // A dialog takes the focus back from what is outside of it.
  (document.querySelector('[role=dialog]') ?? document.body).append(area);
  area.select();
  const worked = document.execCommand('copy');
  area.remove();
  if (!worked)
    throw new Error("Couldn't copy — your browser blocked it. Select the text and copy it manually.");
}
