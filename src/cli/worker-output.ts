// Output of the worker process of a command: its log and the output of handlers. While the progress block is drawn on
// the terminal, whole lines appear above it; before and after, the text is passed on unchanged.

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

  /** The progress block is no longer drawn. */
  end(): void {
    this.#print = null;
    this.write('');
  }
}
