// Removes folders when the process that started this one has ended, however it ended: that closes this standard input.
// Before that, stops a PostgreSQL server in them (an immediate shutdown: nobody reads its data again).
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const folders = process.argv.slice(2);

process.stdin.resume().on('close', () => {
  for (const folder of folders) {
    stopServer(folder);
    // Repeated, because a server that shuts down still writes.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
});

function stopServer(folder) {
  try {
    const [pid] = readFileSync(join(folder, 'pgdata', 'postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 'SIGQUIT');
  } catch (error) {
    // There is no server, or it stopped before.
    if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error;
  }
}
