// Ctrl-C and SIGTERM: the first signal starts an orderly stop, the second one exits immediately.

export interface StopSignals {
  signal: AbortSignal;
  dispose(): void;
}

export function listenForStop(onSecond: () => void, say: (line: string) => void): StopSignals {
  const controller = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      onSecond();
      process.exit(130);
    }
    say(`${name}: finishing work in progress; press Ctrl-C again to stop immediately`);
    controller.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    dispose() {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
