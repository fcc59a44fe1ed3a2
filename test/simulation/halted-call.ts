// A call of the engine that halts after a named statement for as long as a test wants, and then continues or dies. It
// halts only between transactions, so it holds no lock and no connection meanwhile.
import type { EngineContext } from '../../src/engine/engine-context.ts';
import type { Database } from '../../src/platform/database.ts';

const DEAD = 'this process is dead';

export class HaltedCall<T> {
  readonly #ended: Promise<T>;
  readonly #haltAt: string;
  #arrived: () => void = () => {};
  #goOn: () => void = () => {};
  #isHalted = false;
  #isDead = false;

  private constructor(
    context: EngineContext,
    haltAt: string,
    work: (context: EngineContext) => Promise<T>,
    arrived: () => void,
  ) {
    this.#haltAt = haltAt;
    this.#arrived = arrived;
    this.#ended = work({ ...context, db: this.#halting(context.db) });
    this.#ended.catch(() => {});
  }

  /** Resolves when the call has halted, or returned without sending that statement. */
  static async start<T>(
    context: EngineContext,
    haltAt: string,
    work: (context: EngineContext) => Promise<T>,
  ): Promise<HaltedCall<T>> {
    let call!: HaltedCall<T>;
    const arrived = new Promise<void>((resolve) => {
      call = new HaltedCall(context, haltAt, work, resolve);
    });
    await Promise.race([arrived, call.#ended]);
    return call;
  }

  get isHalted(): boolean {
    return this.#isHalted;
  }

  goOn(): Promise<T> {
    this.#goOn();
    return this.#ended;
  }

  /** From now on none of its statements reaches the database. */
  async die(): Promise<void> {
    this.#isDead = true;
    this.#goOn();
    await this.#ended.catch((error: unknown) => {
      if ((error as Error).message !== DEAD) throw error;
    });
  }

  #halting(db: Database): Database {
    const alive = async <R>(send: () => Promise<R>): Promise<R> => {
      if (this.#isDead) throw new Error(DEAD);
      return send();
    };
    const pass = async <R>(name: string, send: () => Promise<R>): Promise<R> => {
      const value = await alive(send);
      if (name === this.#haltAt && !this.#isHalted) {
        this.#isHalted = true;
        await new Promise<void>((resolve) => {
          this.#goOn = resolve;
          this.#arrived();
        });
        if (this.#isDead) throw new Error(DEAD);
      }
      return value;
    };
    const halting: Pick<Database, 'run' | 'runArrays' | 'transaction'> = {
      run: (statement, values) => pass(statement.name, () => db.run(statement, values)),
      runArrays: (statement, values) => pass(statement.name, () => db.runArrays(statement, values)),
      transaction: (work, beforeCommit) => alive(() => db.transaction(work, beforeCommit)),
    };
    // The engine uses these three members only; the class has private ones, hence the cast.
    return halting as Database;
  }
}
