// Lists the tests that failed and passed on a retry, with the failure. Each is a defect of the test or of the product
// that has not been understood yet.
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestModule } from 'vitest/node';

export default class TriedAgainReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules
      .flatMap((module) => [...module.children.allTests()])
      .filter((test) => test.diagnostic()?.flaky);
    if (tests.length === 0) return;
    console.log(`\n${tests.length} failed and passed on a retry:`);
    for (const test of tests) {
      console.log(`  ${test.module.relativeModuleId} > ${test.fullName}`);
      for (const { message, stacks } of test.result().errors ?? []) {
        const at = stacks?.map(({ file, line }) => ` (${file}:${line})`)[0] ?? '';
        console.log(`    ${stripVTControlCharacters(message).replaceAll('\n', '\n    ')}${at}`);
      }
    }
  }
}
