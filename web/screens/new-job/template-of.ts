// A CSV file with the columns of a pipeline, to be filled in.

export function templateHref(fields: readonly { name: string }[]): string {
  const header = fields.map(({ name }) => quoted(name)).join(',');
  // Excel needs the byte order mark to read UTF-8.
  return `data:text/csv;charset=utf-8,${encodeURIComponent(`\ufeff${header}\r\n`)}`;
}

function quoted(name: string): string {
  return /[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}
