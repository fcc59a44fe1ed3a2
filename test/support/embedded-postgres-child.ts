// A process that owns the embedded server of a folder until SIGTERM, or joins it, depending on its arguments. A server
// that it owns outlives a SIGKILL, except with `own-to-the-end`. With `remove` it only removes the folder.
import { joinEmbeddedPostgres } from '../../src/platform/embedded-postgres/join-embedded-postgres.ts';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import { removeAtEnd } from './remove-at-end.ts';

const [does, dataDir, settings = '{}'] = process.argv.slice(2) as [
  'own' | 'own-to-the-end' | 'join' | 'remove',
  string,
  string?,
];
const say = (event: object): void => void process.stdout.write(`${JSON.stringify(event)}\n`);

if (does === 'join') say({ event: 'joined', url: await joinEmbeddedPostgres({ dataDir }) });
else if (does === 'remove') {
  await removeAtEnd(dataDir)();
  say({ event: 'removed' });
} else {
  if (does === 'own-to-the-end') removeAtEnd(dataDir);
  const server = await startEmbeddedPostgres({ dataDir, settings: JSON.parse(settings) });
  // The timer keeps the process alive: the server does not.
  const alive = setInterval(() => {}, 60_000);
  process.on('SIGTERM', () => void server.stop().finally(() => clearInterval(alive)));
  say({ event: 'started', url: server.url });
}
