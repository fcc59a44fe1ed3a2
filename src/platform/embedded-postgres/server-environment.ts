// The environment of every PostgreSQL program we start: nothing inherited that could change its behaviour (PGDATA,
// PGOPTIONS, a locale, someone else's library path).

export function serverEnvironment(libDir: string): NodeJS.ProcessEnv {
  if (process.platform === 'win32') return { ...process.env, LC_ALL: 'C' };
  const libraryPath = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', [libraryPath]: libDir };
}
