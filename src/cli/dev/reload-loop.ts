// Reloads a project when one of its modules has changed. A change that does not load is reported, and the earlier code
// stays in use until the next change.
import { basename, relative } from 'node:path';
import type { ReloadState } from '../../api/api-context.ts';
import type { LoadedModules } from '../../pipeline/loaded-modules.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { toRowmillError } from '../../platform/to-rowmill-error.ts';
import { type Contents, differ, FileWatch, readContents } from './file-watch.ts';
import { loadProject, type Project } from './load-project.ts';

export interface ReloadLoopOptions {
  references: readonly string[];
  /** The modules of this process. */
  loaded: LoadedModules;
  /** The project that is in use. */
  project: Project;
  /** Puts a newly loaded project to use, or throws and leaves the earlier one in use. */
  use: (project: Project) => Promise<void>;
  onState: (state: ReloadState) => void;
  say: (line: string) => void;
}

export class ReloadLoop {
  readonly #options: ReloadLoopOptions;
  readonly #watch: FileWatch;
  /** Contents of the modules at the last reload, successful or not. */
  #loaded: Contents;
  #state: ReloadState = { count: 0, error: null };
  #fixed: string;

  constructor(options: ReloadLoopOptions) {
    this.#options = options;
    this.#fixed = options.project.fixed;
    this.#loaded = readContents(options.loaded.files());
    this.#watch = new FileWatch((folder, error) =>
      options.say(`Changes in ${folder} are not noticed: ${error.message}`),
    );
  }

  /** Resolves after `signal`. */
  async run(signal: AbortSignal): Promise<void> {
    const { onState } = this.#options;
    onState(this.#state);
    this.#watch.watch(this.#loaded.keys());
    try {
      for (;;) {
        const now = await this.#watch.next(this.#loaded.keys(), signal);
        if (now === null) return;
        // A failed reload may lack a file that is not yet known, so that every event may repair it.
        if (this.#state.error === null && !differ(this.#loaded, now)) continue;
        await this.#reload(now);
        onState(this.#state);
      }
    } finally {
      this.#watch.close();
    }
  }

  async #reload(now: Contents): Promise<void> {
    const { references, loaded, use, say } = this.#options;
    const startedMs = monotonicMs();
    const changed = [...now.keys()].filter((file) => this.#loaded.get(file) !== now.get(file));
    try {
      loaded.forget();
      const project = await loadProject(references);
      this.#follow(now, loaded.files());
      await use(project);
      this.#state = { count: this.#state.count + 1, error: null };
      const names = project.pipelines.map(({ name }) => name).join(', ');
      const ms = Math.round(monotonicMs() - startedMs);
      say(`Reloaded ${names} in ${ms} ms${describeChanged(changed)}`);
      if (project.fixed !== this.#fixed)
        say('Settings and sources have changed: restart rowmill dev to apply them');
      this.#fixed = project.fixed;
    } catch (cause) {
      this.#follow(now, [...now.keys(), ...loaded.files()]);
      const { message, hint } = toRowmillError(cause);
      if (message !== this.#state.error?.message || changed.length > 0)
        say(`Reload failed, the earlier code stays in use: ${message}${hint === '' ? '' : `\n  ${hint}`}`);
      this.#state = { ...this.#state, error: { message, hint } };
    }
  }

  /** A module that was known before the reload counts with the content it had then. */
  #follow(now: Contents, files: string[]): void {
    this.#loaded = new Map([...readContents(files), ...[...now].filter(([file]) => files.includes(file))]);
    this.#watch.watch(this.#loaded.keys());
  }
}

function describeChanged(files: readonly string[]): string {
  const [first, ...others] = files;
  if (first === undefined) return '';
  const near = relative(process.cwd(), first);
  const name = near.startsWith('..') ? basename(first) : near;
  return others.length === 0 ? `: ${name} changed` : `: ${name} and ${others.length} more changed`;
}
