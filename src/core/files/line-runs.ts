// Lines of rows in a file, kept as the positions where they do not simply count on.

export interface LineRuns {
  places: number[];
  lines: number[];
}

export function lineRuns(lines: readonly number[]): LineRuns {
  const runs: LineRuns = { places: [], lines: [] };
  for (const [place, line] of lines.entries()) {
    if (place > 0 && line === lines[place - 1]! + 1) continue;
    runs.places.push(place);
    runs.lines.push(line);
  }
  return runs;
}
