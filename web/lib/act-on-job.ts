// Runs an action on a job, reports the result, and refetches the job either way.
import { say, sayError } from '../components/toasts.tsx';
import { queries } from './client.ts';

export async function actOnJob(
  jobId: string,
  done: string,
  action: () => Promise<unknown>,
  undo?: () => void,
): Promise<boolean> {
  let worked = true;
  try {
    await action();
    say(done, undo ? { undo } : {});
  } catch (error) {
    worked = false;
    sayError(error);
  }
  await queries.invalidateQueries({ queryKey: ['job', jobId] });
  return worked;
}
