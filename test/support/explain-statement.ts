// What the server does for a statement of the store: the text that is really sent, as the generic plan that workers use,
// on a connection like theirs. Everything it changed is taken back.
import { Database, type Executor, type Statement } from '../../src/platform/database.ts';

interface PlanNode {
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
}

export interface Explained {
  /** Pages that were looked at, in memory or not. */
  pages: number;
  ms: number;
  plan: PlanNode;
}

export interface Explainer {
  /** Of the only statement that `send` sends. */
  explain(send: (db: Executor) => Promise<unknown>): Promise<Explained>;
  close(): Promise<void>;
}

class TakeBack extends Error {}

export function openExplainer(databaseUrl: string, keyedAccess: boolean): Explainer {
  const db = new Database({
    url: databaseUrl,
    maxConnections: 1,
    applicationName: 'explainer',
    deadlineMs: 60_000,
    keyedAccess,
  });
  let prepared = 0;
  return {
    async explain(send) {
      const { text, values } = await recordStatement(send);
      prepared += 1;
      const name = `explained_${prepared}`;
      let found: Explained | undefined;
      const work = db.transaction(async (tx) => {
        await tx.run({ name: `prepare ${name}`, text: `prepare ${name} as ${text}` });
        const { rows } = await tx.run<{ 'QUERY PLAN': [{ Plan: PlanNode; 'Execution Time': number }] }>({
          name: `explain ${name}`,
          text: `explain (analyze, buffers, timing off, format json) execute ${name}${toArguments(values)}`,
        });
        const [{ Plan: plan, 'Execution Time': ms }] = rows[0]!['QUERY PLAN'];
        found = { plan, ms, pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] };
        throw new TakeBack();
      });
      await work.catch((error: unknown) => {
        if (!(error instanceof TakeBack)) throw error;
      });
      return found!;
    },
    close: () => db.close(),
  };
}

async function recordStatement(
  send: (db: Executor) => Promise<unknown>,
): Promise<{ text: string; values: unknown[] }> {
  const sent: { text: string; values: unknown[] }[] = [];
  const record = ({ text }: Statement, values: unknown[] = []): void => {
    sent.push({ text, values });
  };
  await send({
    run: async (statement, values) => {
      record(statement, values);
      return { rows: [], rowCount: 0, command: '', oid: 0, fields: [] };
    },
    runArrays: async (statement, values) => {
      record(statement, values);
      return [];
    },
  });
  if (sent.length !== 1) throw new Error(`expected one statement, got ${sent.length}`);
  return sent[0]!;
}

/** As EXECUTE takes them. */
export function toArguments(values: readonly unknown[]): string {
  return values.length === 0 ? '' : `(${values.map(toLiteral).join(', ')})`;
}

/** A value as SQL has it. */
function toLiteral(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = Array.isArray(value) ? `{${value.map(toElement).join(',')}}` : String(value);
  return `'${text.replaceAll("'", "''")}'`;
}

const toElement = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : String(value);
