// Output of the worker process of a command: its log, and what handlers print. While a block of progress is drawn on the
// terminal, whole lines appear above it; before and after they are passed on as they come.

export class WorkerOutput {
  #unfinished = '';
  #print: ((lines: string) => void) | null = null;

  write(text: string): void {
    const all = this.#unfinished + text;
    const end = this.#print ? all.lastIndexOf('\n') + 1 : all.length;
    this.#unfinished = all.slice(end);
    if (end === 0) return;
    if (this.#print) this.#print(all.slice(0, end));
    else process.stderr.write(all);
  }

  showAbove(print: (lines: string) => void): void {
    this.#print = print;
  }

  /** Nothing is drawn any more. */
  end(): void {
    this.#print = null;
    this.write('');
  }
}
