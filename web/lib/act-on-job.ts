// Does something to a job and tells how it went. What is shown of the job is fetched anew either way.
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
