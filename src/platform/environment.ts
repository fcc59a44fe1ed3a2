// The environment variables that are not settings with bounds.

export function databaseUrlFromEnvironment(): string | undefined {
  return process.env.DATABASE_URL || undefined;
}

export function isDumbTerminal(): boolean {
  return process.env.TERM === 'dumb';
}
