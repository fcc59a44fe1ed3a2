// The environment variables that are not settings with bounds.

export function databaseUrlFromEnvironment(): string | undefined {
  return process.env.DATABASE_URL || undefined;
}

export function isDumbTerminal(): boolean {
  return process.env.TERM === 'dumb';
}

/** The JSON file with settings and sources. */
export function configFileFromEnvironment(): string | undefined {
  return process.env.ROWMILL_CONFIG || undefined;
}

/** A secret that the settings file names but does not contain. */
export function secretFromEnvironment(name: string): string | undefined {
  return process.env[name] || undefined;
}
