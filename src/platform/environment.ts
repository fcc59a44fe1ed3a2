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

/** The server that commands speak to, and the key they show it. */
export function apiFromEnvironment(): { url: string | undefined; key: string | undefined } {
  return { url: process.env.ROWMILL_API || undefined, key: process.env.ROWMILL_API_KEY || undefined };
}

/** Where programs keep what a person told them, by the XDG convention. */
export function configHomeFromEnvironment(): string | undefined {
  return process.env.XDG_CONFIG_HOME || undefined;
}

/** Started by npx, or as a script of package.json. */
export function isRunByNpm(): boolean {
  return process.env.npm_config_user_agent !== undefined;
}
