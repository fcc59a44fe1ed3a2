// Named points at which a test can kill or stop this process. They do nothing unless ROWMILL_FAULT_POINTS names them:
// "flush.after_commit=kill@2" kills the process at the second call.
import { writeSync } from 'node:fs';

export const FAULT_POINTS = [
  'ingest.file_stored',
  'ingest.before_commit',
  'ingest.after_commit',
  'ingest.before_seal',
  'claim.after_commit',
  'handler.after_return',
  'flush.before_commit',
  'flush.after_commit',
  'cancel.after_begin',
  'cancel.after_step',
  'cancel.before_finalize',
  'finalize.after_begin',
  'reprocess.before_commit',
  'reprocess.after_commit',
  'finalize.after_file',
  'finalize.before_commit',
  'finalize.after_commit',
  'rescue.before_commit',
  'source.after_claim',
  'source.after_rename',
  'source.after_take',
  'source.before_finish',
  'webhook.after_claim',
  'webhook.after_answer',
  'callback.after_call',
] as const;
export type FaultPoint = (typeof FAULT_POINTS)[number];

type Action = 'kill' | 'stop' | 'exit' | 'throw';
const armed = new Map<string, { action: Action; left: number }>();

for (const entry of (process.env.ROWMILL_FAULT_POINTS ?? '').split(',').filter(Boolean)) {
  const match = /^([\w.]+)=(kill|stop|exit|throw)(?:@(\d+))?$/.exec(entry.trim());
  if (!match || !(FAULT_POINTS as readonly string[]).includes(match[1]!)) {
    throw new Error(`ROWMILL_FAULT_POINTS: expected name=kill|stop|exit|throw[@n], got ${entry}`);
  }
  armed.set(match[1]!, { action: match[2] as Action, left: Number(match[3] ?? 1) });
}

export function faultPoint(name: FaultPoint): void {
  const fault = armed.size === 0 ? undefined : armed.get(name);
  if (!fault || --fault.left !== 0) return;
  writeSync(1, `${JSON.stringify({ event: 'fault', name, action: fault.action })}\n`);
  if (fault.action === 'kill') process.kill(process.pid, 'SIGKILL');
  if (fault.action === 'stop') process.kill(process.pid, 'SIGSTOP');
  if (fault.action === 'exit') process.exit(1);
  if (fault.action === 'throw') throw new Error(`fault point ${name}`);
}
