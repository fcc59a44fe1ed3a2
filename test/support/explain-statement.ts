// Explains a statement of the store: the text that is really sent, with the generic plan that workers use, on a
// connection like theirs. All its changes are rolled back.
import { Database, type Executor, type Statement } from '../../src/platform/database.ts';

export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'CTE Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

export interface Explained {
  /** Pages read, from memory or disk. */
  pages: number;
  ms: number;
  plan: PlanNode;
}

export interface Explainer {
  /**
   * Explains the last statement that `send` sends; `afterPlanning` fills tables that were empty when the plan was
   * made.
   */
  explain(
    send: (db: Executor) => Promise<unknown>,
    afterPlanning?: () => Promise<unknown>,
  ): Promise<Explained>;
  close(): Promise<void>;
}

/** Every node of a plan. */
export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Rows that the nodes of a plan returned or discarded, over all loops: a measure of work without time. */
export function rowsVisited(plan: PlanNode): number {
  const perLoop = (node: PlanNode): number =>
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
  return nodesOf(plan).reduce((sum, node) => sum + node['Actual Loops'] * perLoop(node), 0);
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
    async explain(send, afterPlanning) {
      const sent = await recordStatements(send);
      const { text, values } = sent.pop()!;
      prepared += 1;
      const name = `explained_${prepared}`;
      let found: Explained | undefined;
      const work = db.transaction(async (tx) => {
        for (const before of sent) await tx.run(before, before.values);
        await tx.run({ name: `prepare ${name}`, text: `prepare ${name} as ${text}` });
        if (afterPlanning) {
          await tx.run({ name: `before ${name}`, text: 'savepoint before' });
          await tx.run({ name: `plan ${name}`, text: `execute ${name}${toArguments(values)}` });
          await tx.run({ name: `after ${name}`, text: 'rollback to savepoint before' });
          await afterPlanning();
        }
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

type Sent = Statement & { values: unknown[] };

async function recordStatements(send: (db: Executor) => Promise<unknown>): Promise<Sent[]> {
  const sent: Sent[] = [];
  const record = (statement: Statement, values: unknown[] = []): void => {
    sent.push({ ...statement, values });
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
  if (sent.length === 0) throw new Error('expected a statement, got none');
  return sent;
}

/** Arguments for EXECUTE. */
export function toArguments(values: readonly unknown[]): string {
  return values.length === 0 ? '' : `(${values.map(toLiteral).join(', ')})`;
}

/** A value as an SQL literal. */
function toLiteral(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = Array.isArray(value) ? `{${value.map(toElement).join(',')}}` : String(value);
  return `'${text.replaceAll("'", "''")}'`;
}

const toElement = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : String(value);
