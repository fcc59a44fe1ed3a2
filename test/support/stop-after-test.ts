// Helpers register here how to stop a server that they started; it is stopped after the test. A hook in a helper would
// run for the first file only: a process of the test run loads a helper once for all of its test files.

const stops: (() => Promise<unknown>)[] = [];

export function stopAfterTest(stop: () => Promise<unknown>): void {
  stops.push(stop);
}

export async function stopStarted(): Promise<void> {
  await Promise.all(stops.splice(0).map((stop) => stop()));
}
