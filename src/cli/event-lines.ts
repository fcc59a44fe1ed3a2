// Lines of commands that run until they are stopped: text on standard error, or with --json one object per line on
// standard output.

/** `event` names the line for programs; `values` are its facts. */
export type EventLines = (text: string, event?: string, values?: Record<string, unknown>) => void;

export function eventLines(json: boolean | undefined): EventLines {
  return (text, event = 'note', values = {}) => {
    if (json) console.log(JSON.stringify({ event, text, ...values }));
    else console.error(text);
  };
}
