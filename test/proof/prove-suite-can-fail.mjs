// Proves that the tests can fail: removes one safeguard at a time from a copy of the source, and expects the tests that
// guard it to fail; `named` selects tests of slow files. Exits 1 if the tests still pass, or if a proof is void because
// its tests did not run. An argument selects the safeguards whose name contains it.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

const MUTATIONS = [
  {
    name: 'the token check of the fence',
    file: 'src/store/commands/spans/fence-leases.ts',
    from: 's.token = w.token and s.items @> w.recorded',
    to: 's.items @> w.recorded',
    tests: ['test/simulation/interleavings.test.ts', 'test/simulation/model.test.ts'],
  },
  {
    name: 'a flush in one statement that records nothing if a lease is lost',
    file: 'src/store/commands/results/record-done.ts',
    from: "const ALL_HELD = '(select all_held from whole)';",
    to: "const ALL_HELD = '(select all_held or true from whole)';",
    tests: ['test/simulation/interleavings.test.ts'],
    named: 'in one statement',
  },
  {
    name: 'ending a block of results at an item whose result comes later',
    file: 'src/engine/flush/result-blocks.ts',
    from: 'seq !== this.#nextSeq || isFull',
    to: 'seq < this.#nextSeq || isFull',
    tests: ['src/engine/flush/result-blocks.test.ts'],
  },
  {
    name: 'no two blocks with one item',
    file: 'migrations/0045_create_result_blocks.sql',
    from: "exclude using gist ((job_id::text || ' ' || generation::text) with =, seqs with &&)",
    to: 'check (upper(seqs) > first_seq)',
    tests: ['test/engine/result-blocks.test.ts'],
    named: 'refuses a block',
  },
  {
    name: 'one end: the doctor looks for items in a row and a block',
    file: 'src/store/views/health/check-invariants.ts',
    from: 'b.generation = r.generation',
    to: 'b.generation < r.generation',
    tests: ['test/cli/doctor.test.ts'],
    named: 'stored as a row and in a block',
  },
  {
    name: 'later retries while failures of a phase rise',
    file: 'src/worker/admission/phase-admission.ts',
    from: 'outcome.delayMs /= spike.factor',
    to: 'outcome.delayMs /= 1',
    tests: ['src/worker/run/phase-pool.test.ts'],
  },
  {
    name: 'fewer slots under pressure',
    file: 'src/worker/admission/phase-admission.ts',
    from: 'return pressure.factor * ',
    to: 'return (pressure === undefined ? 0 : 1) * ',
    tests: ['src/worker/run/phase-pool.test.ts'],
  },
  {
    name: 'ending the leases of a job together',
    file: 'src/worker/leases/held-leases.ts',
    from: 'const byRunner = new Map<LeaseRunner, Set<Lease>>();',
    to: `if (leases.length > 1) return new Map(leases.flatMap((lease) => [...this.#end([lease], abort)]));
    const byRunner = new Map<LeaseRunner, Set<Lease>>();`,
    tests: ['src/worker/run/phase-pool.test.ts'],
  },
  {
    name: 'counting memory outside the heap',
    file: 'src/platform/own-signs.ts',
    from: 'process.memoryUsage.rss() / this.#limitBytes',
    to: '0 / this.#limitBytes',
    tests: ['src/platform/own-signs.test.ts'],
  },
  {
    name: 'measuring the finish lag from the last flush',
    file: 'src/store/commands/jobs/finalize-lease.ts',
    from: '(select max(l.at) from ledger l where l.job_id = $1 and l.generation = jobs.generation)',
    to: 'now()',
    tests: ['src/platform/metrics.test.ts'],
  },
  {
    name: 'the finish condition: no span left',
    file: 'src/store/commands/jobs/begin-finalizing.ts',
    from: 'and not exists (select 1 from spans s where s.job_id = $1)',
    to: '',
    tests: ['test/simulation/interleavings.test.ts'],
  },
  {
    name: 'the finish condition: sealed',
    file: 'src/store/commands/jobs/begin-finalizing.ts',
    from: "(j.sealed_at is not null or j.state = 'CANCELLING')",
    to: 'true',
    tests: ['test/simulation/interleavings.test.ts'],
  },
  {
    name: 'the pause between budget requests',
    file: 'src/worker/admission/scope-budget.ts',
    from: '    this.#isOpen = false;\n',
    to: '',
    tests: ['src/worker/admission/scope-budget.test.ts'],
  },
  {
    name: 'statements without names behind a pooler',
    file: 'src/platform/database.ts',
    from: 'this.#namedStatements && !this.#isPooled',
    to: 'this.#namedStatements',
    tests: ['src/platform/is-through-pooler.test.ts'],
  },
  {
    name: "the database's clock: leases expire by the worker's",
    file: 'src/store/lease.ts',
    from: '`now() + $',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is inserted into a template string
    to: '`to_timestamp(${Date.now()} / 1000.0) + $',
    tests: ['test/chaos/clock-skew.test.ts'],
  },
  {
    name: 'the token of the process that reads a file',
    file: 'src/store/commands/items/reserve-seqs.ts',
    from: 'and ($6::uuid is null or ingest_token = $6)',
    to: 'and ($6::uuid is null or $6 = $6)',
    tests: ['src/ingest/ingest-job.test.ts'],
  },
  {
    name: 'the checksum of rows read before a crash',
    file: 'src/ingest/ingest-job.ts',
    from: 'writer.checksum() !== checkpoint?.checksum',
    to: 'writer.checksum() === undefined && checkpoint === null',
    tests: ['src/ingest/ingest-job.test.ts'],
  },
  {
    name: 'skipping rows stored before a crash',
    file: 'src/ingest/ingest-job.ts',
    from: 'let toSkip = writer.report.read;',
    to: 'let toSkip = writer.report.read > 0 ? writer.report.read - 1 : 0;',
    tests: ['src/ingest/ingest-job.test.ts'],
  },
  {
    name: 'comparing whole rows, not only keys, when results are reused',
    file: 'src/store/commands/items/take-over-results.ts',
    from: 'where o.input = n.input and',
    to: 'where',
    tests: ['src/ingest/ingest-job.test.ts'],
  },
  {
    name: 'references to output files before leftovers are deleted',
    file: 'src/engine/services/blob-collector.ts',
    from: '!kept.has(key) && !busy',
    to: '!(kept.has(key) && jobIds.length < 0) && !busy',
    tests: ['test/engine/output-files.test.ts'],
  },
  {
    name: 'the finalize token',
    file: 'src/store/commands/jobs/finalize-lease.ts',
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: it is inserted into a template string
    from: "where job_id = $1 and ${canGo('finish')} and finalize_token = $2",
    to: "where job_id = $1 and ${canGo('finish')} and $2::uuid is not null",
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: it is inserted into a template string
    tests: ['test/engine/output-files.test.ts', 'test/simulation/interleavings.test.ts'],
  },
  {
    name: 'the phase of the output that a claim hands over',
    file: 'src/store/commands/spans/claimed-inputs.ts',
    from: 'o.phase = $2::int - 1',
    to: 'o.phase = $2::int * 0',
    tests: ['test/chaos/kill-in-phases.test.ts'],
    named: 'before a flush commits',
  },
  {
    name: "keeping the phase of a dead worker's items",
    file: 'src/engine/flush/rescue-leases.ts',
    from: 'phase: lease.phase,\n      items: part.items,',
    to: 'phase: 0,\n      items: part.items,',
    tests: ['test/chaos/kill-in-phases.test.ts'],
    named: 'before a flush commits',
  },
  {
    name: 'the sweep of cancellations whose process died',
    file: 'src/store/views/jobs/find-overdue.ts',
    from: "where j.state = 'CANCELLING'",
    to: "where j.state = 'CANCELLING' and j.cancelled_at is null",
    tests: ['test/chaos/kill-in-cancel.test.ts'],
    named: 'cancel.after_begin',
  },
  {
    name: 'the sweep of cancelled jobs that were being finalized',
    file: 'src/store/views/jobs/find-overdue.ts',
    from: "where j.state = 'FINALIZING' and",
    to: "where j.state = 'FINALIZING' and j.cancelled_at is null and",
    tests: ['test/chaos/kill-in-cancel.test.ts'],
    named: 'finalize.after_begin',
  },
  {
    name: 'booking off the results of reprocessed items',
    file: 'src/store/commands/spans/reopen-items.ts',
    from: 'group by t.generation, t.phase',
    to: 'where t.seq < 0 group by t.generation, t.phase',
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'two concurrent reprocess requests',
  },
  {
    name: 'excluding waiting items from a reprocess',
    file: 'src/store/commands/spans/reopen-items.ts',
    from: ' and not (select items from open) @> c.seq',
    to: '',
    tests: ['test/engine/reprocess.test.ts'],
    named: 'in a paused job beside the waiting rows',
  },
  {
    name: 'removing reprocessed items from error groups',
    file: 'src/store/commands/spans/reopen-items.ts',
    from: 'set failed = g.failed - t.items',
    to: 'set failed = g.failed',
    tests: ['test/engine/reprocess.test.ts'],
    named: 'count only the remaining rows',
  },
  {
    name: 'ignoring outputs older than the edit of their item',
    file: 'src/store/commands/spans/reopen-items.ts',
    from: 'and o.phase = w.phase - 1 and o.generation >= e.generation',
    to: 'and o.phase = w.phase - 1',
    tests: ['test/engine/reprocess.test.ts'],
    named: 'start at the first phase until its output is newer than the edit',
  },
  {
    name: 'refusing claims that do not know of edits',
    file: 'src/store/commands/spans/claim-items.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in a template string
    from: "and ${withEdits ? '' : 'not '}j.has_edits)",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is inserted into a template string
    to: "and (j.has_edits or ${withEdits ? 'false' : 'true'}))",
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'a claim that does not know of edits',
  },
  {
    name: 'opening a generation of finished or paused jobs only',
    file: 'src/store/commands/jobs/open-generation.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in a template string
    from: "generation = $2 and state = $5::job_state\n      and (${canGo('reopen')} or state = 'PAUSED' and sealed_at is not null)",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is inserted into a template string
    to: "generation = $2 and $5::job_state is not null\n      and (${canGo('reopen')} or true)",
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'a client that assumes the job is finished',
  },
  {
    name: 'opening a generation only once',
    file: 'src/store/commands/jobs/open-generation.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in a template string
    from: "generation = $2 and state = $5::job_state\n      and (${canGo('reopen')} or state = 'PAUSED' and sealed_at is not null)",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is inserted into a template string
    to: "$2::int is not null and $5::job_state is not null\n      and (${canGo('reopen')} or true)",
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'two concurrent reprocess requests',
  },
  {
    name: 'restoring earlier results after a cancelled generation',
    file: 'src/store/commands/spans/cancel-items.ts',
    from: "'upper(u.r)', 'c.generation - 1')",
    to: "'upper(u.r)', '0')",
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'claim and flush of a cancelled generation',
  },
  {
    name: 'booking restored results in again',
    file: 'src/store/commands/spans/cancel-items.ts',
    from: 'select generation, phase, status from had',
    to: "select generation, phase, status from had where status = 'CANCELLED'",
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'claim and flush of a cancelled generation',
  },
  {
    name: 'counters: locking entries in key order',
    file: 'src/store/commands/counters/change-entries.ts',
    from: 'order by w.counter_id, w.scope collate "C", w.entity collate "C"',
    to: '',
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'feed existing rows',
  },
  {
    name: 'counters: one lock order for taking back and adding',
    file: 'src/store/commands/counters/change-entries.ts',
    from: 'order by m.counter_id, m.owner_id, m.scope, m.entity',
    to: 'order by m.counter_id desc, m.owner_id desc, m.scope desc, m.entity desc',
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'takes back once',
  },
  {
    name: 'counters: a flush that ignores contributions voided by a replacement',
    file: 'src/store/commands/counters/change-entries.ts',
    from: 'and e.epoch <> $',
    to: 'and e.epoch is null and e.epoch <> $',
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'takes back once',
  },
  {
    name: 'counters: a rescue that ignores contributions voided by a replacement',
    file: 'src/store/marked-contributions.ts',
    from: 'where e.epoch = s.epoch',
    to: '',
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'concurrently with the rescue',
  },
  {
    name: 'counters: computing the change of a replacement under the lock',
    file: 'src/store/commands/counters/change-entries.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in a template string
    from: "then ${subtractMeasures('excluded.measured', 'e.measured')} else",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is inserted into a template string
    to: "then ${subtractMeasures('excluded.measured', 'excluded.settled')} else",
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'feed existing rows',
  },
  {
    name: 'counters: taking back contributions of rerun rows, also of later phases',
    file: 'src/engine/flush/flush-contents.ts',
    from: "outcome.kind === 'advance' ? this.#batch.phase : LAST_PHASE",
    to: "outcome.kind === 'advance' ? this.#batch.phase : Math.min(this.#batch.phase, LAST_PHASE)",
    tests: ['test/engine/counters-again.test.ts'],
    named: 'counts nothing of the phases behind',
  },
  {
    name: 'counters: taking nothing back for a retry',
    file: 'src/engine/flush/flush-contents.ts',
    from: "this.#takesBack && outcome.kind !== 'retry'",
    to: 'this.#takesBack',
    tests: ['test/engine/counters-again.test.ts'],
    named: 'counts as before until it has another result',
  },
  {
    name: 'counters: taking back contributions of rows that crashed too often',
    file: 'src/engine/flush/rescue-leases.ts',
    from: 'failed > 0 && generation > 1',
    to: 'failed > 0 && generation > 1e9',
    tests: ['test/engine/counters-again.test.ts'],
    named: 'in which it crashed too often',
  },
  {
    name: 'counters: keeping a contribution that cannot be taken back',
    file: 'src/engine/flush/flush-contents.ts',
    from: ' && !outcome.keepsCounted',
    to: '',
    tests: ['test/engine/counters-again.test.ts'],
    named: 'fail the rows that would take more',
  },
  {
    name: 'counters: one repair at a time',
    file: 'src/store/commands/counters/repair-counters.ts',
    from: 'await tx.run(LOCK_REPAIRS);',
    to: "if (level === 'entries') await tx.run(LOCK_REPAIRS);",
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'repairs once',
  },
  {
    name: 'running other work beside suspects',
    file: 'src/worker/claims/claim-loops.ts',
    from: "alone ? 'alone' : suspect ? 'suspects' : 'ordinary'",
    to: "alone || suspect ? 'alone' : 'ordinary'",
    tests: ['test/engine/suspects.test.ts'],
    named: 'another job runs to its end',
  },
  {
    name: 'one span of suspects per process',
    file: 'src/worker/claims/exclusive-turns.ts',
    from: "(kind === 'alone' || this.#held.suspects === 0)",
    to: 'true',
    tests: ['src/worker/claims/exclusive-turns.test.ts'],
  },
  {
    name: 'running the last attempt of a suspect alone',
    file: 'src/core/retries/crash-policy.ts',
    from: 'ALONE_FROM_CRASHES = MAX_CRASHES - 1',
    to: 'ALONE_FROM_CRASHES = MAX_CRASHES',
    tests: ['src/core/retries/crash-policy.test.ts'],
  },
  {
    name: 'making no suspects when a lease expires once',
    file: 'src/core/retries/crash-policy.ts',
    from: '  if (crashes === 0) return',
    to: '  if (crashes > 99) return',
    tests: ['src/core/retries/crash-policy.test.ts'],
  },
  {
    name: 'clearing suspects whose call answered',
    file: 'src/engine/flush/next-spans.ts',
    from: 'delayMs: rounded, attempt, failures, crashes: 0 }',
    to: 'delayMs: rounded, attempt, failures, crashes: 1 }',
    tests: ['test/engine/suspects.test.ts'],
    named: 'a call that answered',
  },
  {
    name: 'folding the ledger in one pass',
    file: 'src/store/commands/results/fold-ledger.ts',
    from: 'count(*) over (partition by o.generation, o.phase, o.minute) as entries',
    to: '(select count(*) from old p where p.generation = o.generation and p.phase = o.phase and p.minute = o.minute) as entries',
    tests: ['test/engine/queue-plans.test.ts'],
    named: 'statistics: fresh',
  },
  {
    name: 'one lookup per item in a step of a cancellation',
    file: 'src/store/commands/spans/cancel-items.ts',
    from: 'where had_generation is null\n',
    to: 'where seq not in (select seq from each where had_generation is not null)\n',
    tests: ['test/engine/cancel-plan.test.ts'],
  },
  {
    name: 'planning a step of a cancellation by key',
    file: 'src/engine/jobs/cancel-job.ts',
    from: 'await planByKey(tx);',
    to: 'void planByKey;',
    tests: ['test/engine/cancel-plan.test.ts'],
  },
  {
    name: 'smaller steps after a failed step of a cancellation',
    file: 'src/engine/jobs/cancel-job.ts',
    from: 'size = Math.ceil(size / 4);',
    to: '',
    tests: ['test/engine/control.test.ts'],
    named: 'is cancelled in smaller ones',
  },
  {
    name: 'after faults: showing errors with an unknown code',
    file: 'src/core/errors/rowmill-error.ts',
    from: "isErrorCode(code) ? code : 'INTERNAL_ERROR'",
    to: 'code',
    tests: ['src/platform/to-rowmill-error.test.ts'],
  },
  {
    name: 'after faults: separating messages of handlers from those of the worker',
    file: 'src/worker/process/supervise-worker.ts',
    from: "message?.kind === 'failed' && !isUp",
    to: "message?.kind === 'failed' && (isUp || !isUp)",
    tests: ['test/engine/supervision.test.ts'],
    named: 'messages that handlers send',
  },
  {
    name: 'after faults: reporting a connection failure as a database error',
    file: 'src/platform/to-rowmill-error.ts',
    from: "databaseErrorKind(error) === 'passing'",
    to: "databaseErrorKind(error) === 'data'",
    tests: ['test/engine/supervision.test.ts'],
    named: 'a first child that cannot reach the database',
  },
  {
    name: 'after faults: waiting for PostgreSQL at the start of a process',
    file: 'src/open-rowmill.ts',
    from: 'waitMs: settings.databaseStartWaitMs,',
    to: 'waitMs: 0 * settings.databaseStartWaitMs,',
    tests: ['test/chaos/start-while-recovering.test.ts'],
    named: 'in time is an error',
  },
  {
    name: 'after faults: restarting a dead embedded server when a process joins',
    file: 'src/platform/embedded-postgres/join-embedded-postgres.ts',
    from: 'return restartServer(folder, deadlineMs, options.onLog ?? (() => {}));',
    to: 'return deadlineMs > 0 ? null : restartServer(folder, deadlineMs, options.onLog ?? (() => {}));',
    tests: ['test/chaos/dead-postmaster.test.ts'],
    named: 'of two processes that join',
  },
  {
    name: 'after faults: leaving a deleted folder of an embedded server deleted',
    file: 'src/platform/embedded-postgres/server-keeper.ts',
    from: 'if (await this.#hasFolder()) await withLaunchLock',
    to: 'if ((await this.#hasFolder()) || folder) await withLaunchLock',
    tests: ['test/chaos/dead-postmaster.test.ts'],
    named: 'whose folder was deleted',
  },
  {
    name: 'after faults: keeping smaller ingest batches only if they are faster per row',
    file: 'src/core/claims/batch-size.ts',
    from: 'median(trial.costs) < trial.costBefore * BETTER',
    to: 'median(trial.costs) < trial.costBefore * BETTER * 100',
    tests: ['src/core/claims/batch-size.test.ts'],
  },
  {
    name: 'server: the small body limit of account routes',
    file: 'src/api/requests/hold-body.ts',
    from: "return { bodyLimitName: 'apiAccountMaxBytes', bodyMsName",
    to: "return { bodyLimitName: 'apiBodyMaxBytes', bodyMsName",
    tests: ['test/api/held-memory.test.ts'],
    named: 'is refused and not held',
  },
  {
    name: 'server: the short body timeout of account routes',
    file: 'src/api/requests/hold-body.ts',
    from: "bodyMsName: 'apiAccountBodyMs' };",
    to: "bodyMsName: 'apiBodyMs' };",
    tests: ['test/api/slow-clients.test.ts'],
    named: 'to /api/session is answered',
  },
  {
    name: 'server: not reading bodies for unknown routes',
    file: 'src/api/server.ts',
    from: 'request.is404 && !isForPage(request)',
    to: 'request.is404 && isForPage(request)',
    tests: ['test/api/slow-clients.test.ts'],
    named: 'to an address that is none',
  },
  {
    name: 'server: counting large JSON bodies as uploads',
    file: 'src/api/requests/hold-body.ts',
    from: 'bytes <= apiBodyMaxBytes || ',
    to: 'bytes >= 0 || bytes <= apiBodyMaxBytes || ',
    tests: ['test/api/held-memory.test.ts'],
    named: 'are uploads',
  },
  {
    name: 'server: the limit of body bytes per address',
    file: 'src/api/requests/held-bytes.ts',
    from: 'bytes > this.#maxOfAddress',
    to: 'bytes > this.#maxOfAddress * 1e9',
    tests: ['test/api/held-memory.test.ts'],
    named: 'up to a bound from one address',
  },
  {
    name: 'server: the limit of body bytes in total',
    file: 'src/api/requests/held-bytes.ts',
    from: 'bytes > this.#max)',
    to: 'bytes > this.#max * 1e9)',
    tests: ['test/api/held-memory.test.ts'],
    named: 'up to a bound in all',
  },
  {
    name: 'server: the limit of connections per address',
    file: 'src/api/requests/bound-connections.ts',
    from: 'apiTrustedProxies > 0 ?',
    to: 'apiTrustedProxies >= 0 ?',
    tests: ['test/api/held-memory.test.ts'],
    named: 'are bounded from one address',
  },
  {
    name: 'server: the limit of connections in total',
    file: 'src/api/requests/bound-connections.ts',
    from: "slots.take('', apiSocketsAtOnce)",
    to: "slots.take('', apiSocketsAtOnce * 1e9)",
    tests: ['test/api/held-memory.test.ts'],
    named: 'are bounded in all',
  },
  {
    name: 'server: refusing other sites without accounts',
    file: 'src/api/requests/authenticate.ts',
    from: 'if (isLocal || isUnsafe(request))',
    to: 'if (isUnsafe(request))',
    tests: ['test/api/accounts-browser.test.ts'],
    named: 'changes or reads something',
  },
  {
    name: 'server: not logging disconnected clients as errors',
    file: 'src/api/requests/answer-error.ts',
    from: 'if (!raw.socket.destroyed) return false;',
    to: 'if (raw.socket.destroyed) return false;',
    tests: ['test/api/held-memory.test.ts'],
    named: 'in the middle of its request',
  },
  {
    name: 'server: one change by many concurrent resumes',
    file: 'src/engine/jobs/resume-job.ts',
    from: 'changed: released !== null',
    to: 'changed: true',
    tests: ['test/api/control.test.ts'],
    named: 'of many resumes',
  },
  {
    name: 'server: comparing the start of repeated items',
    file: 'src/engine/items/store-batch.ts',
    from: 'repeated.inputs.length === 0',
    to: 'repeated.inputs.length >= 0',
    tests: ['test/api/control.test.ts'],
    named: 'other items at a position',
  },
  {
    name: 'server: comparing repeated items',
    file: 'src/engine/items/append-items.ts',
    from: 'hasItems(context.db, jobId, from, inputs)',
    to: 'hasItems(context.db, jobId, from, inputs).then(() => true)',
    tests: ['test/api/control.test.ts'],
    named: 'other items at a position',
  },
  {
    name: 'server: one request per idempotency key',
    file: 'src/store/commands/jobs/idempotency-keys.ts',
    from: "where k.created_at < now() - $5::float8 * interval '1 millisecond'",
    to: "where k.created_at < now() + $5::float8 * interval '1 millisecond'",
    tests: ['test/api/idempotency.test.ts'],
    named: 'of many requests',
  },
  {
    name: 'server: binding an idempotency key to its request',
    file: 'src/engine/jobs/answer-once.ts',
    from: '!kept.requestHash.equals(requestHash)',
    to: '!kept.requestHash.equals(kept.requestHash)',
    tests: ['test/api/idempotency.test.ts'],
    named: 'another body, query or route',
  },
  {
    name: 'server: binding an idempotency key to its caller',
    file: 'src/api/requests/answer-once.ts',
    from: 'caller: actor!.userId,',
    to: 'caller: actor!.userId.slice(0, 0),',
    tests: ['test/api/idempotency.test.ts'],
    named: 'belongs to its caller',
  },
  {
    name: 'server: not repeating a request without a stored answer',
    file: 'src/engine/jobs/answer-once.ts',
    from: '    break;\n',
    to: '    return reserved;\n',
    tests: ['test/api/idempotency.test.ts'],
    named: 'whose process died',
  },
  {
    name: 'server: storing no answers with secrets',
    file: 'src/contract/webhooks.ts',
    from: "idempotency: 'refused'",
    to: "idempotency: 'stored'",
    tests: ['test/api/idempotency.test.ts'],
    named: 'no route keeps an answer with a secret',
  },
  {
    name: 'server: a client that repeats only idempotent requests',
    file: 'src/client/send-request.ts',
    from: 'request.honoursKey === true',
    to: 'request.honoursKey !== undefined',
    tests: ['test/api/idempotency.test.ts'],
    named: 'the client sends again only',
  },
  {
    name: 'access: requiring the scope admin for other owners',
    file: 'src/contract/permission.ts',
    from: "return role === 'admin' && scopes.includes('admin');",
    to: "return role === 'admin' && scopes.length > 0;",
    tests: ['test/api/authorisation-matrix.test.ts', 'src/api/requests/actor.test.ts'],
    named: 'jobId|all owners|without the scope admin',
  },
  {
    name: 'access: a matrix that includes routes outside the table',
    file: 'src/api/server.ts',
    from: '  registerRoutes(app, HANDLERS, context);\n',
    to: "  registerRoutes(app, HANDLERS, context);\n  app.get('/api/debug', async () => ({}));\n",
    tests: ['test/api/authorisation-matrix.test.ts'],
    named: 'beside the table',
  },
  {
    name: 'access: keeping a weak key from revoking others',
    file: 'src/api/routes/accounts.ts',
    from: "if (!actor.scopes.includes('admin') && keyId !== actor.keyId) throw keyNotFound(keyId);",
    to: "if (keyId === '') throw keyNotFound(keyId);",
    tests: ['test/api/authorisation-matrix.test.ts'],
    named: 'does not revoke other keys',
  },
  {
    name: 'access: letting any key revoke itself',
    file: 'src/contract/accounts.ts',
    from: "scope: 'any',",
    to: "scope: 'admin',",
    tests: ['test/api/authorisation-matrix.test.ts'],
    named: 'any key revokes itself',
  },
  {
    name: 'access: hiding resource keys of other owners',
    file: 'src/store/views/limits/list-resources.ts',
    from: "and ($3::text[] is null or coalesce(r.key, o.key) = '' or r.owners ?| $3::text[])",
    to: 'and ($3::text[] is null or true)',
    tests: ['test/api/other-owners.test.ts'],
  },
  {
    name: 'access: reserving sources without an owner for administrators',
    file: 'src/api/files/find-source.ts',
    from: 'owners === null || (owner !== undefined && owners.includes(owner))',
    to: 'owners === null || owner === undefined || owners.includes(owner)',
    tests: ['src/api/requests/actor.test.ts'],
  },
  {
    name: 'access: deleting the bytes of a refused upload',
    file: 'src/engine/items/file-set.ts',
    from: '  await removeFiles(context, prefix, null);\n  for (const key of images.keys())',
    to: "  if (prefix === '') await removeFiles(context, prefix, null);\n  for (const key of images.keys())",
    tests: ['test/api/leftover-blobs.test.ts'],
  },
  {
    name: 'access: keeping a set of files that a job uses',
    file: 'src/store/commands/items/change-file-sets.ts',
    from: "text: 'delete from file_sets where set_id = $1 and job_id is null',",
    to: "text: 'delete from file_sets where set_id = $1',",
    tests: ['test/api/leftover-blobs.test.ts'],
  },
  {
    name: 'access: counting images towards the quota',
    file: 'src/store/views/limits/read-owner-usage.ts',
    from: "coalesce((source ->> 'imageBytes')::bigint, 0)",
    to: '0',
    tests: ['test/api/leftover-blobs.test.ts'],
  },
  {
    name: 'access: deleting the images of a deleted job',
    file: 'src/engine/items/file-set.ts',
    from: '    await context.blobs.delete(imageCopyKey(key, setId));\n  await removeFiles(',
    to: '    void key;\n  await removeFiles(',
    tests: ['test/api/leftover-blobs.test.ts'],
  },
  {
    name: 'access: guarding failed files against formulas',
    file: 'src/export/export-job.ts',
    from: 'return { style, isReversible: true, preamble, isContinued };',
    to: 'return { style, raw: true, preamble, isContinued };',
    tests: ['test/engine/failed-rows.test.ts'],
  },
  {
    name: 'access: reading failed files back unchanged',
    file: 'src/core/files/formula-guard.ts',
    from: '? text.slice(1) : text',
    to: '? text : text',
    tests: ['test/engine/failed-rows.test.ts'],
  },
  {
    name: 'access: revoking keys with a new password on request',
    file: 'src/engine/accounts/change-user.ts',
    from: 'change.disabled || revokeKeys ?',
    to: 'change.disabled || (revokeKeys && false) ?',
    tests: ['test/api/account-access.test.ts'],
  },
  {
    name: 'access: stopping webhooks of a disabled account',
    file: 'src/engine/accounts/change-user.ts',
    from: 'change.disabled ? await disableWebhooksOf(tx, userId) : 0',
    to: 'change.disabled && userId === "" ? await disableWebhooksOf(tx, userId) : 0',
    tests: ['test/api/account-access.test.ts'],
  },
  {
    name: 'access: creating keys of one account one at a time',
    file: 'src/store/commands/accounts/insert-key.ts',
    from: 'and not disabled for no key update',
    to: 'and not disabled',
    tests: ['test/api/account-access.test.ts'],
  },
  {
    name: 'access: one generated key for all processes',
    file: 'src/store/commands/events/secret-key-id.ts',
    from: ' where secret_key_id is null',
    to: '',
    tests: ['test/api/account-access.test.ts'],
  },
  {
    name: 'linear time: comments before a page',
    file: 'src/ingest/formats/sniff-text.ts',
    from: '/^<(!doctype html|html|head|body|table|meta)[\\s>]/i.test(afterProlog(start))',
    to: '/^(<!--[\\s\\S]*?-->\\s*|<\\?xml[^>]*>\\s*)*<(!doctype html|html)[\\s>]/i.test(afterProlog(start) && start)',
    tests: ['test/regular-expressions.test.ts'],
  },
  {
    name: 'linear time: zeros of a JSON number',
    file: 'src/ingest/formats/parse-json-row.ts',
    from: "withoutTrailing(mantissa!.replace(/[-.]/g, '').replace(/^0+/, ''), '0')",
    to: "withoutTrailing(mantissa!.replace(/[-.]/g, '').replace(/^0+|0+$/g, ''), '0')",
    tests: ['test/engine/adversarial-input.test.ts'],
    named: 'zeros in a number',
  },
  {
    name: 'linear time: comments of an archive',
    file: 'src/ingest/formats/inspect-archive.ts',
    from: 'test(withoutComments(prolog))',
    to: "test(withoutComments('') + prolog.replace(/<!--[\\s\\S]*?-->/g, ''))",
    tests: ['test/regular-expressions.test.ts', 'test/engine/adversarial-input.test.ts'],
    named: 'comments that do not end|linear time',
  },
  {
    name: 'linear time: numbers of an exported cell',
    file: 'src/export/export-csv.ts',
    from: '/^[+-]?[.,]*\\d[\\d.,]*(?:[eE][+-]?\\d+)?$/',
    to: '/^[+-]?[\\d.,]*\\d[\\d.,]*(?:[eE][+-]?\\d+)?$/',
    tests: ['test/engine/adversarial-input.test.ts'],
    named: 'only starts like a number',
  },
  {
    name: 'linear time: format codes of a workbook',
    file: 'src/ingest/formats/xlsx/cell-text.ts',
    from: 'bare.replace(/\\[[^[\\]]*\\]/g',
    to: 'bare.replace(/\\[[^\\]]*\\]/g',
    tests: ['test/regular-expressions.test.ts'],
  },
  {
    name: 'linear time: numbers of repeated headers',
    file: 'src/core/files/map-columns.ts',
    from: 'numbers.get(base) ?? 2',
    to: '2',
    tests: ['test/engine/adversarial-input.test.ts'],
    named: 'one name for all columns',
  },
  {
    name: 'reporting XML errors that lose rows',
    file: 'src/ingest/formats/xlsx/xml-reader.ts',
    from: 'if (!FORGIVEN.includes(message))',
    to: 'if (FORGIVEN.length === 0)',
    tests: ['src/ingest/formats/xlsx/xml-reader.test.ts'],
  },
  {
    name: 'the deadline of a file thread',
    file: 'src/ingest/formats/file-threads.ts',
    from: 'busyMs() - since > limitMs',
    to: 'busyMs() - since > limitMs * 1_000_000',
    tests: ['src/ingest/formats/file-threads.test.ts'],
  },
  {
    name: 'ending a file thread on abort',
    file: 'src/ingest/formats/file-threads.ts',
    from: "  signal?.addEventListener('abort', onAbort, { once: true });\n",
    to: '',
    tests: ['src/ingest/formats/file-threads.test.ts'],
  },
  {
    name: 'ending format detection when the client of a preview disconnects',
    file: 'src/api/jobs/preview-job.ts',
    from: 'await sniffFile(path, readLimits(settings), signal)',
    to: 'await sniffFile(path, readLimits(settings), signal.aborted ? signal : undefined)',
    tests: ['test/api/preview.test.ts'],
    named: 'disconnects',
  },
  {
    name: 'ending the opening of a file when the client of a preview disconnects',
    file: 'src/api/jobs/preview-job.ts',
    from: 'await previewFile(path, options, engine.settings, signal)',
    to: 'await previewFile(path, options, engine.settings)',
    tests: ['test/api/preview.test.ts'],
    named: 'disconnects',
  },
  {
    name: 'one part per sheet',
    file: 'src/ingest/formats/xlsx/workbook-parts.ts',
    from: 'if (sheets.some((sheet) => sheet.entry === entry)) throw namedTwice(relation.target);',
    to: 'if (sheets.length < 0) throw namedTwice(relation.target);',
    tests: ['src/ingest/formats/file-threads.test.ts'],
  },
  {
    name: 'the limit of sheets',
    file: 'src/ingest/formats/xlsx/workbook-parts.ts',
    from: 'const MAX_SHEETS = 1000;',
    to: 'const MAX_SHEETS = 1_000_000;',
    tests: ['src/ingest/formats/file-threads.test.ts'],
  },
  {
    name: 'counting the processes that a file killed',
    file: 'src/store/commands/jobs/ingest-lease.ts',
    from: 'ingest_takeovers = ingest_takeovers + (ingest_token is not null)::int',
    to: 'ingest_takeovers = ingest_takeovers',
    tests: ['test/engine/takeovers.test.ts'],
  },
  {
    name: 'resetting that count after a stored batch',
    file: 'src/store/commands/items/reserve-seqs.ts',
    from: 'case when $6::uuid is null then ingest_takeovers else 0 end',
    to: 'ingest_takeovers',
    tests: ['test/engine/takeovers.test.ts'],
  },
  {
    name: 'counting the processes that output killed',
    file: 'src/store/commands/jobs/finalize-lease.ts',
    from: 'finalize_takeovers = finalize_takeovers + (finalize_token is not null)::int',
    to: 'finalize_takeovers = finalize_takeovers',
    tests: ['test/engine/takeovers.test.ts'],
  },
  {
    name: 'counting only newly written files as progress',
    file: 'src/store/commands/jobs/finalize-lease.ts',
    from: ' and finalize_files < $3',
    to: '',
    tests: ['test/engine/takeovers.test.ts'],
  },
];

const ignored = new Set(['node_modules', '.git', 'dist', '.rowmill', 'out', 'bench']);

function copyRepository() {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-proof-'));
  cpSync(root, folder, {
    recursive: true,
    filter: (path) => !ignored.has(relative(root, path).split(sep)[0]),
  });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
  return folder;
}

function run(folder, command, args) {
  return spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    // Every case: some safeguards matter only in rare orders. Without a safeguard some jobs never finish.
    env: { ...process.env, TEST_DEEP: '1', TEST_PATIENCE_MS: '60000' },
  });
}

/**
 * The tests that failed. Throws if nothing is proved: a test file did not run, or none of its tests did, for example
 * after a failed setup.
 */
function readReport({ testResults }, { tests }) {
  const ran = testResults.map((file) => ({
    ...file,
    ended: file.assertionResults.filter(({ status }) => status === 'passed' || status === 'failed'),
  }));
  const failed = ran.flatMap(({ ended }) => ended.filter(({ status }) => status === 'failed'));
  for (const path of failed.length > 0 ? [] : tests) {
    const file = ran.find(({ name }) => name.split(sep).join('/').endsWith(`/${path}`));
    if (!file) throw new Error(`${path} was not run`);
    if (file.status === 'failed') throw new Error(`${path} failed outside its tests: ${file.message}`);
  }
  if (!ran.some(({ ended }) => ended.length > 0)) throw new Error(`no test ran in ${tests.join(', ')}`);
  return failed.map((test) => test.fullName);
}

function testFails(mutation) {
  const folder = copyRepository();
  try {
    const path = join(folder, mutation.file);
    const source = readFileSync(path, 'utf8');
    if (!source.includes(mutation.from))
      throw new Error(`${mutation.file} does not contain: ${mutation.from}`);
    writeFileSync(path, source.replaceAll(mutation.from, mutation.to));
    const built = run(folder, 'npx', ['tsc', '-p', 'tsconfig.build.json']);
    if (built.status !== 0) throw new Error(`the mutated source does not compile:\n${built.stdout}`);
    const named = mutation.named ? ['-t', mutation.named] : [];
    const parameters = ['vitest', 'run', '--reporter=json', '--retry=0', ...mutation.tests, ...named];
    const tested = run(folder, 'npx', parameters);
    const start = tested.stdout.indexOf('{"numTotalTestSuites"');
    if (start < 0) throw new Error(`the tests gave no report:\n${tested.stdout}${tested.stderr}`);
    return readReport(JSON.parse(tested.stdout.slice(start)), mutation);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

let stayedGreen = 0;
let voided = 0;
for (const mutation of MUTATIONS.filter(({ name }) => name.includes(process.argv[2] ?? ''))) {
  try {
    const failed = testFails(mutation);
    if (failed.length === 0) stayedGreen += 1;
    console.log(`${failed.length > 0 ? 'red  ' : 'GREEN'} without ${mutation.name}`);
    for (const name of failed.slice(0, 3)) console.log(`        ${name}`);
  } catch (error) {
    voided += 1;
    console.log(`VOID  without ${mutation.name}\n        ${error.message}`);
  }
}
if (stayedGreen > 0) console.log(`${stayedGreen} safeguards are not tested`);
if (voided > 0) console.log(`${voided} proofs are void`);
if (stayedGreen + voided === 0) console.log('every safeguard is tested');
process.exit(stayedGreen + voided === 0 ? 0 : 1);
