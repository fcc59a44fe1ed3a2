// Environment variables that are not settings.

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

/** A secret whose variable name is in the settings file. */
export function secretFromEnvironment(name: string): string | undefined {
  return process.env[name] || undefined;
}

/** Headers for the collector of traces, such as its key: "name=value,name=value", with values encoded as in a URL. */
export function traceHeadersFromEnvironment(): Record<string, string> {
  const pairs = (process.env.OTEL_EXPORTER_OTLP_HEADERS ?? '')
    .split(',')
    .filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())];
    }),
  );
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** The server that CLI commands call, and their API key. */
export function apiFromEnvironment(): { url: string | undefined; key: string | undefined } {
  return { url: process.env.ROWMILL_API || undefined, key: process.env.ROWMILL_API_KEY || undefined };
}

/** The user's configuration folder by the XDG convention. */
export function configHomeFromEnvironment(): string | undefined {
  return process.env.XDG_CONFIG_HOME || undefined;
}

/** True under npx or as a script of package.json. */
export function isRunByNpm(): boolean {
  return process.env.npm_config_user_agent !== undefined;
}
