// Runs one task script in its own process, on the Node that started the bench, and returns the JSON it prints.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export function runTask<Result>(script: string, task: { task: string }): Promise<Result> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.env.BENCH_NODE ?? process.execPath, [path, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(output) as Result);
      else reject(new Error(`${task.task} exited with code ${code}`));
    });
  });
}
