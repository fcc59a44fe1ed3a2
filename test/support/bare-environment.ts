// The environment of a command that a person runs: the PATH, the guard of the test run, and nothing else.
export function bareEnvironment(): Record<string, string | undefined> {
  const { PATH, NODE_OPTIONS, TEST_REFUSED_SOCKETS } = process.env;
  return { PATH, NODE_OPTIONS, TEST_REFUSED_SOCKETS };
}
