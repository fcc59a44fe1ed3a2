// Shows that the tests can fail: takes one safety out of a copy of the source at a time, and expects the tests that
// stand for it to go red; `named` chooses among the tests of slow files. Exits 1 when one stays green, or is void because its
// tests did not run. An argument chooses those whose name contains it.
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
    name: 'retries that come later while failures of a phase rise',
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
    name: 'memory outside the heap',
    file: 'src/platform/own-signs.ts',
    from: 'process.memoryUsage.rss() / this.#limitBytes',
    to: '0 / this.#limitBytes',
    tests: ['src/platform/own-signs.test.ts'],
  },
  {
    name: 'the lag of an end, from the last flush',
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
    name: 'the pause between a question for budget and its answer',
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
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is put into a template string
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
    name: 'the checksum of rows that were read before a crash',
    file: 'src/ingest/ingest-job.ts',
    from: 'writer.checksum() !== checkpoint?.checksum',
    to: 'writer.checksum() === undefined && checkpoint === null',
    tests: ['src/ingest/ingest-job.test.ts'],
  },
  {
    name: 'rows pass over what was stored before a crash',
    file: 'src/ingest/ingest-job.ts',
    from: 'let toSkip = writer.report.read;',
    to: 'let toSkip = writer.report.read > 0 ? writer.report.read - 1 : 0;',
    tests: ['src/ingest/ingest-job.test.ts'],
  },
  {
    name: 'equal rows only: results are taken over by key alone',
    file: 'src/store/commands/items/take-over-results.ts',
    from: 'where o.input = n.input and',
    to: 'where',
    tests: ['src/ingest/ingest-job.test.ts'],
  },
  {
    name: 'output files are referenced before they are collected',
    file: 'src/engine/services/blob-collector.ts',
    from: '!kept.has(key) && !busy',
    to: '!(kept.has(key) && jobIds.length < 0) && !busy',
    tests: ['test/engine/output-files.test.ts'],
  },
  {
    name: 'the finalize token',
    file: 'src/store/commands/jobs/finalize-lease.ts',
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: it is put into a template string
    from: "where job_id = $1 and ${canGo('finish')} and finalize_token = $2",
    to: "where job_id = $1 and ${canGo('finish')} and $2::uuid is not null",
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: it is put into a template string
    tests: ['test/engine/output-files.test.ts', 'test/simulation/interleavings.test.ts'],
  },
  {
    name: 'the phase of the output that a claim hands over',
    file: 'src/store/commands/spans/claim-items.ts',
    from: 'o.phase = $2::int - 1',
    to: 'o.phase = $2::int * 0',
    tests: ['test/chaos/kill-in-phases.test.ts'],
    named: 'before a flush commits',
  },
  {
    name: 'items of a dead worker wait at the phase they were in',
    file: 'src/engine/flush/rescue-leases.ts',
    from: 'phase: lease.phase,\n      items: part.items,',
    to: 'phase: 0,\n      items: part.items,',
    tests: ['test/chaos/kill-in-phases.test.ts'],
    named: 'before a flush commits',
  },
  {
    name: 'a cancellation whose process died is found by the sweep',
    file: 'src/store/views/jobs/find-overdue.ts',
    from: "where j.state = 'CANCELLING'",
    to: "where j.state = 'CANCELLING' and j.cancelled_at is null",
    tests: ['test/chaos/kill-in-cancel.test.ts'],
    named: 'cancel.after_begin',
  },
  {
    name: 'a cancelled job that was being finalized is found by the sweep',
    file: 'src/store/views/jobs/find-overdue.ts',
    from: "where j.state = 'FINALIZING' and",
    to: "where j.state = 'FINALIZING' and j.cancelled_at is null and",
    tests: ['test/chaos/kill-in-cancel.test.ts'],
    named: 'finalize.after_begin',
  },
  {
    name: 'the booking off of results that are reprocessed',
    file: 'src/store/commands/spans/reopen-items.ts',
    from: 'group by t.generation, t.phase',
    to: 'where t.seq < 0 group by t.generation, t.phase',
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'two concurrent reprocess requests',
  },
  {
    name: 'items that wait are not reprocessed again',
    file: 'src/store/commands/spans/reopen-items.ts',
    from: ' and not (select items from open) @> c.seq',
    to: '',
    tests: ['test/engine/reprocess.test.ts'],
    named: 'in a paused job beside the waiting rows',
  },
  {
    name: 'error groups that lose what is reprocessed',
    file: 'src/store/commands/spans/reopen-items.ts',
    from: 'set failed = g.failed - t.items',
    to: 'set failed = g.failed',
    tests: ['test/engine/reprocess.test.ts'],
    named: 'count only the remaining rows',
  },
  {
    name: 'outputs that are older than the edit of their item are not used',
    file: 'src/store/commands/spans/reopen-items.ts',
    from: 'and o.phase = w.phase - 1 and o.generation >= e.generation',
    to: 'and o.phase = w.phase - 1',
    tests: ['test/engine/reprocess.test.ts'],
    named: 'start at the first phase until its output is newer than the edit',
  },
  {
    name: 'claims that have not heard of edits get nothing',
    file: 'src/store/commands/spans/claim-items.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it stands in a template string
    from: "and ${withEdits ? '' : 'not '}j.has_edits)",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is put into a template string
    to: "and (j.has_edits or ${withEdits ? 'false' : 'true'}))",
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'a claim that does not know of edits',
  },
  {
    name: 'a generation is opened of a job that is over or paused only',
    file: 'src/store/commands/jobs/open-generation.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it stands in a template string
    from: "generation = $2 and state = $5::job_state\n      and (${canGo('reopen')} or state = 'PAUSED' and sealed_at is not null)",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is put into a template string
    to: "generation = $2 and $5::job_state is not null\n      and (${canGo('reopen')} or true)",
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'a client that assumes the job is finished',
  },
  {
    name: 'a generation is opened once',
    file: 'src/store/commands/jobs/open-generation.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it stands in a template string
    from: "generation = $2 and state = $5::job_state\n      and (${canGo('reopen')} or state = 'PAUSED' and sealed_at is not null)",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is put into a template string
    to: "$2::int is not null and $5::job_state is not null\n      and (${canGo('reopen')} or true)",
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'two concurrent reprocess requests',
  },
  {
    name: 'a cancelled generation gives back the results that its items had',
    file: 'src/store/commands/spans/cancel-items.ts',
    from: 'where c.generation > 1 and',
    to: 'where c.generation > 1 and c.generation < 1 and',
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'claim and flush of a cancelled generation',
  },
  {
    name: 'results that are given back are booked in again',
    file: 'src/store/commands/spans/cancel-items.ts',
    from: 'select generation, phase, status from had',
    to: "select generation, phase, status from had where status = 'CANCELLED'",
    tests: ['test/simulation/reprocess-interleavings.test.ts'],
    named: 'claim and flush of a cancelled generation',
  },
  {
    name: 'counters: entries are locked in the order of their keys',
    file: 'src/store/commands/counters/change-entries.ts',
    from: 'order by w.counter_id, w.scope collate "C", w.entity collate "C"',
    to: '',
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'feed existing rows',
  },
  {
    name: 'counters: what is taken back and what is added are locked in one order',
    file: 'src/store/commands/counters/change-entries.ts',
    from: 'order by m.counter_id, m.owner_id, m.scope, m.entity',
    to: 'order by m.counter_id desc, m.owner_id desc, m.scope desc, m.entity desc',
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'takes back once',
  },
  {
    name: 'counters: what a replacement has voided is not taken back by a flush',
    file: 'src/store/commands/counters/change-entries.ts',
    from: 'and e.epoch <> $',
    to: 'and e.epoch is null and e.epoch <> $',
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'takes back once',
  },
  {
    name: 'counters: what a replacement has voided is not taken back by a rescue',
    file: 'src/store/marked-contributions.ts',
    from: 'where e.epoch = s.epoch',
    to: '',
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'concurrently with the rescue',
  },
  {
    name: 'counters: what a replacement changed is computed under the lock',
    file: 'src/store/commands/counters/change-entries.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it stands in a template string
    from: "then ${subtractMeasures('excluded.measured', 'e.measured')} else",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is put into a template string
    to: "then ${subtractMeasures('excluded.measured', 'excluded.settled')} else",
    tests: ['test/simulation/counter-interleavings.test.ts'],
    named: 'feed existing rows',
  },
  {
    name: 'counters: rows that ran again take back, also of later phases',
    file: 'src/engine/flush/flush-contents.ts',
    from: "outcome.kind === 'advance' ? this.#phase : LAST_PHASE",
    to: "outcome.kind === 'advance' ? this.#phase : Math.min(this.#phase, LAST_PHASE)",
    tests: ['test/engine/counters-again.test.ts'],
    named: 'counts nothing of the phases behind',
  },
  {
    name: 'counters: rows that are tried again take nothing back',
    file: 'src/engine/flush/flush-contents.ts',
    from: "this.#takesBack && outcome.kind !== 'retry'",
    to: 'this.#takesBack',
    tests: ['test/engine/counters-again.test.ts'],
    named: 'counts as before until it has another result',
  },
  {
    name: 'counters: rows that crashed too often take back',
    file: 'src/engine/flush/rescue-leases.ts',
    from: 'failed > 0 && generation > 1',
    to: 'failed > 0 && generation > 1e9',
    tests: ['test/engine/counters-again.test.ts'],
    named: 'in which it crashed too often',
  },
  {
    name: 'counters: a row whose contribution cannot be taken back keeps it',
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
    name: 'other work runs beside suspects',
    file: 'src/worker/claims/claim-loops.ts',
    from: "alone ? 'alone' : suspect ? 'suspects' : 'ordinary'",
    to: "alone || suspect ? 'alone' : 'ordinary'",
    tests: ['test/engine/suspects.test.ts'],
    named: 'another job runs to its end',
  },
  {
    name: 'a process has one span of suspects at a time',
    file: 'src/worker/claims/exclusive-turns.ts',
    from: "(kind === 'alone' || this.#held.suspects === 0)",
    to: 'true',
    tests: ['src/worker/claims/exclusive-turns.test.ts'],
  },
  {
    name: 'the last try of a suspect has nothing beside it',
    file: 'src/core/retries/crash-policy.ts',
    from: 'ALONE_FROM_CRASHES = MAX_CRASHES - 1',
    to: 'ALONE_FROM_CRASHES = MAX_CRASHES',
    tests: ['src/core/retries/crash-policy.test.ts'],
  },
  {
    name: 'a lease that expires once makes no suspects',
    file: 'src/core/retries/crash-policy.ts',
    from: '  if (crashes === 0) return',
    to: '  if (crashes > 99) return',
    tests: ['src/core/retries/crash-policy.test.ts'],
  },
  {
    name: 'a call that answered is not a suspect any more',
    file: 'src/engine/flush/next-spans.ts',
    from: 'delayMs: rounded, attempt, failures, crashes: 0 }',
    to: 'delayMs: rounded, attempt, failures, crashes: 1 }',
    tests: ['test/engine/suspects.test.ts'],
    named: 'a call that answered',
  },
  {
    name: 'the ledger is folded in one pass',
    file: 'src/store/commands/results/fold-ledger.ts',
    from: 'count(*) over (partition by o.generation, o.phase, o.minute) as entries',
    to: '(select count(*) from old p where p.generation = o.generation and p.phase = o.phase and p.minute = o.minute) as entries',
    tests: ['test/engine/queue-plans.test.ts'],
    named: 'statistics: fresh',
  },
  {
    name: 'a step of a cancellation looks up each item once',
    file: 'src/store/commands/spans/cancel-items.ts',
    from: 'where had_generation is null\n',
    to: 'where seq not in (select seq from each where had_generation is not null)\n',
    tests: ['test/engine/cancel-plan.test.ts'],
  },
  {
    name: 'a step of a cancellation is planned by key',
    file: 'src/engine/jobs/cancel-job.ts',
    from: 'await planByKey(tx);',
    to: 'void planByKey;',
    tests: ['test/engine/cancel-plan.test.ts'],
  },
  {
    name: 'a step of a cancellation that fails shrinks',
    file: 'src/engine/jobs/cancel-job.ts',
    from: 'size = Math.ceil(size / 4);',
    to: '',
    tests: ['test/engine/control.test.ts'],
    named: 'is cancelled in smaller ones',
  },
  {
    name: 'after faults: an unknown error code does not hide the error',
    file: 'src/core/errors/rowmill-error.ts',
    from: 'isErrorCode(code) ? ERROR_REGISTRY[code] : ERROR_REGISTRY.INTERNAL_ERROR',
    to: 'ERROR_REGISTRY[code]',
    tests: ['src/platform/to-rowmill-error.test.ts'],
  },
  {
    name: 'after faults: messages of handlers are not those of the worker',
    file: 'src/worker/process/supervise-worker.ts',
    from: "message?.kind === 'failed' && !isUp",
    to: "message?.kind === 'failed' && (isUp || !isUp)",
    tests: ['test/engine/supervision.test.ts'],
    named: 'messages that handlers send',
  },
  {
    name: 'after faults: a connection failure is a database error',
    file: 'src/platform/to-rowmill-error.ts',
    from: "databaseErrorKind(error) === 'passing'",
    to: "databaseErrorKind(error) === 'data'",
    tests: ['test/engine/supervision.test.ts'],
    named: 'a first child that cannot reach the database',
  },
  {
    name: 'after faults: a process that starts waits for PostgreSQL',
    file: 'src/open-rowmill.ts',
    from: 'waitMs: settings.databaseStartWaitMs,',
    to: 'waitMs: 0 * settings.databaseStartWaitMs,',
    tests: ['test/chaos/start-while-recovering.test.ts'],
    named: 'in time is an error',
  },
  {
    name: 'after faults: a dead embedded server is started by who joins it',
    file: 'src/platform/embedded-postgres/join-embedded-postgres.ts',
    from: 'return restartServer(folder, deadlineMs, options.onLog ?? (() => {}));',
    to: 'return deadlineMs > 0 ? null : restartServer(folder, deadlineMs, options.onLog ?? (() => {}));',
    tests: ['test/chaos/dead-postmaster.test.ts'],
    named: 'of two processes that join',
  },
  {
    name: 'after faults: a deleted folder of an embedded server is not created again',
    file: 'src/platform/embedded-postgres/server-keeper.ts',
    from: 'if (await this.#hasFolder()) await withLaunchLock',
    to: 'if ((await this.#hasFolder()) || folder) await withLaunchLock',
    tests: ['test/chaos/dead-postmaster.test.ts'],
    named: 'whose folder was deleted',
  },
  {
    name: 'after faults: smaller ingest batches are kept only if they are faster per row',
    file: 'src/core/claims/batch-size.ts',
    from: 'median(trial.costs) < trial.costBefore * BETTER',
    to: 'median(trial.costs) < trial.costBefore * BETTER * 100',
    tests: ['src/core/claims/batch-size.test.ts'],
  },
  {
    name: 'server: small bodies for accounts',
    file: 'src/api/requests/hold-body.ts',
    from: "return { bodyLimitName: 'apiAccountMaxBytes', bodyMsName",
    to: "return { bodyLimitName: 'apiBodyMaxBytes', bodyMsName",
    tests: ['test/api/held-memory.test.ts'],
    named: 'is refused and not held',
  },
  {
    name: 'server: little time for bodies for accounts',
    file: 'src/api/requests/hold-body.ts',
    from: "bodyMsName: 'apiAccountBodyMs' };",
    to: "bodyMsName: 'apiBodyMs' };",
    tests: ['test/api/slow-clients.test.ts'],
    named: 'to /api/session is answered',
  },
  {
    name: 'server: no body is read for an address that is none',
    file: 'src/api/server.ts',
    from: 'request.is404 && !isForPage(request)',
    to: 'request.is404 && isForPage(request)',
    tests: ['test/api/slow-clients.test.ts'],
    named: 'to an address that is none',
  },
  {
    name: 'server: large JSON bodies count as uploads',
    file: 'src/api/requests/hold-body.ts',
    from: 'bytes <= apiBodyMaxBytes || ',
    to: 'bytes >= 0 || bytes <= apiBodyMaxBytes || ',
    tests: ['test/api/held-memory.test.ts'],
    named: 'are uploads',
  },
  {
    name: 'server: bytes of bodies are bounded by address',
    file: 'src/api/requests/held-bytes.ts',
    from: 'bytes > this.#maxOfAddress',
    to: 'bytes > this.#maxOfAddress * 1e9',
    tests: ['test/api/held-memory.test.ts'],
    named: 'up to a bound from one address',
  },
  {
    name: 'server: bytes of bodies are bounded in all',
    file: 'src/api/requests/held-bytes.ts',
    from: 'bytes > this.#max)',
    to: 'bytes > this.#max * 1e9)',
    tests: ['test/api/held-memory.test.ts'],
    named: 'up to a bound in all',
  },
  {
    name: 'server: connections are bounded by address',
    file: 'src/api/requests/bound-connections.ts',
    from: 'apiTrustedProxies > 0 ?',
    to: 'apiTrustedProxies >= 0 ?',
    tests: ['test/api/held-memory.test.ts'],
    named: 'are bounded from one address',
  },
  {
    name: 'server: connections are bounded in all',
    file: 'src/api/requests/bound-connections.ts',
    from: "slots.take('', apiSocketsAtOnce)",
    to: "slots.take('', apiSocketsAtOnce * 1e9)",
    tests: ['test/api/held-memory.test.ts'],
    named: 'are bounded in all',
  },
  {
    name: 'server: other sites read nothing without accounts',
    file: 'src/api/requests/authenticate.ts',
    from: 'if (isLocal || isUnsafe(request))',
    to: 'if (isUnsafe(request))',
    tests: ['test/api/accounts-browser.test.ts'],
    named: 'changes or reads something',
  },
  {
    name: 'server: clients that are gone are no errors',
    file: 'src/api/requests/answer-error.ts',
    from: 'if (!raw.socket.destroyed) return false;',
    to: 'if (raw.socket.destroyed) return false;',
    tests: ['test/api/held-memory.test.ts'],
    named: 'in the middle of its request',
  },
  {
    name: 'server: of many resumes one changed the job',
    file: 'src/engine/jobs/resume-job.ts',
    from: 'changed: released !== null',
    to: 'changed: true',
    tests: ['test/api/control.test.ts'],
    named: 'of many resumes',
  },
  {
    name: 'server: the beginning of repeated items is compared',
    file: 'src/engine/items/store-batch.ts',
    from: 'repeated.inputs.length === 0',
    to: 'repeated.inputs.length >= 0',
    tests: ['test/api/control.test.ts'],
    named: 'other items at a position',
  },
  {
    name: 'server: repeated items are compared',
    file: 'src/engine/items/append-items.ts',
    from: 'hasItems(context.db, jobId, from, inputs)',
    to: 'hasItems(context.db, jobId, from, inputs).then(() => true)',
    tests: ['test/api/control.test.ts'],
    named: 'other items at a position',
  },
  {
    name: 'server: one request for an idempotency key',
    file: 'src/store/commands/jobs/idempotency-keys.ts',
    from: "where k.created_at < now() - $5::float8 * interval '1 millisecond'",
    to: "where k.created_at < now() + $5::float8 * interval '1 millisecond'",
    tests: ['test/api/idempotency.test.ts'],
    named: 'of many requests',
  },
  {
    name: 'server: an idempotency key is for one request',
    file: 'src/engine/jobs/answer-once.ts',
    from: '!kept.requestHash.equals(requestHash)',
    to: '!kept.requestHash.equals(kept.requestHash)',
    tests: ['test/api/idempotency.test.ts'],
    named: 'another body, query or route',
  },
  {
    name: 'server: an idempotency key is of one caller',
    file: 'src/api/requests/answer-once.ts',
    from: 'caller: actor!.userId,',
    to: 'caller: actor!.userId.slice(0, 0),',
    tests: ['test/api/idempotency.test.ts'],
    named: 'belongs to its caller',
  },
  {
    name: 'server: a request without an answer is not carried out again',
    file: 'src/engine/jobs/answer-once.ts',
    from: '    break;\n',
    to: '    return reserved;\n',
    tests: ['test/api/idempotency.test.ts'],
    named: 'whose process died',
  },
  {
    name: 'server: no secret among kept answers',
    file: 'src/contract/webhooks.ts',
    from: "idempotency: 'refused'",
    to: "idempotency: 'stored'",
    tests: ['test/api/idempotency.test.ts'],
    named: 'no route keeps an answer with a secret',
  },
  {
    name: 'server: the client repeats only what is carried out once',
    file: 'src/client/send-request.ts',
    from: 'request.honoursKey === true',
    to: 'request.honoursKey !== undefined',
    tests: ['test/api/idempotency.test.ts'],
    named: 'the client sends again only',
  },
  {
    name: 'access: the scope admin for things of other owners',
    file: 'src/contract/permission.ts',
    from: "return role === 'admin' && scopes.includes('admin');",
    to: "return role === 'admin' && scopes.length > 0;",
    tests: ['test/api/authorisation-matrix.test.ts', 'src/api/requests/actor.test.ts'],
    named: 'jobId|all owners|without the scope admin',
  },
  {
    name: 'access: a route beside the table is seen by the matrix',
    file: 'src/api/server.ts',
    from: '  registerRoutes(app, HANDLERS, context);\n',
    to: "  registerRoutes(app, HANDLERS, context);\n  app.get('/api/debug', async () => ({}));\n",
    tests: ['test/api/authorisation-matrix.test.ts'],
    named: 'beside the table',
  },
  {
    name: 'access: a weak key revokes only itself',
    file: 'src/api/routes/accounts.ts',
    from: "if (!actor.scopes.includes('admin') && keyId !== actor.keyId) throw keyNotFound(keyId);",
    to: "if (keyId === '') throw keyNotFound(keyId);",
    tests: ['test/api/authorisation-matrix.test.ts'],
    named: 'does not revoke other keys',
  },
  {
    name: 'access: any key revokes itself',
    file: 'src/contract/accounts.ts',
    from: "scope: 'any',",
    to: "scope: 'admin',",
    tests: ['test/api/authorisation-matrix.test.ts'],
    named: 'any key revokes itself',
  },
  {
    name: 'access: keys of resources of other owners are hidden',
    file: 'src/store/views/limits/list-resources.ts',
    from: "and ($3::text[] is null or coalesce(r.key, o.key) = '' or r.owners ?| $3::text[])",
    to: 'and ($3::text[] is null or true)',
    tests: ['test/api/other-owners.test.ts'],
  },
  {
    name: 'access: a source without an owner is for administrators',
    file: 'src/api/files/find-source.ts',
    from: 'owners === null || (owner !== undefined && owners.includes(owner))',
    to: 'owners === null || owner === undefined || owners.includes(owner)',
    tests: ['src/api/requests/actor.test.ts'],
  },
  {
    name: 'access: a refused upload deletes what it stored',
    file: 'src/engine/items/file-set.ts',
    from: '  await removeFiles(context, prefix, null);\n  for (const key of images.keys())',
    to: "  if (prefix === '') await removeFiles(context, prefix, null);\n  for (const key of images.keys())",
    tests: ['test/api/leftover-blobs.test.ts'],
  },
  {
    name: 'access: a set of files that a job has is not dropped',
    file: 'src/store/commands/items/change-file-sets.ts',
    from: "text: 'delete from file_sets where set_id = $1 and job_id is null',",
    to: "text: 'delete from file_sets where set_id = $1',",
    tests: ['test/api/leftover-blobs.test.ts'],
  },
  {
    name: 'access: images count for the quota',
    file: 'src/store/views/limits/read-owner-usage.ts',
    from: "coalesce((source ->> 'imageBytes')::bigint, 0)",
    to: '0',
    tests: ['test/api/leftover-blobs.test.ts'],
  },
  {
    name: 'access: images of a removed job are deleted',
    file: 'src/engine/items/file-set.ts',
    from: '    await context.blobs.delete(imageCopyKey(key, setId));\n  await removeFiles(',
    to: '    void key;\n  await removeFiles(',
    tests: ['test/api/leftover-blobs.test.ts'],
  },
  {
    name: 'access: failed files are guarded against formulas',
    file: 'src/export/export-job.ts',
    from: 'return { style, isReversible: true, preamble, isContinued };',
    to: 'return { style, raw: true, preamble, isContinued };',
    tests: ['test/engine/failed-rows.test.ts'],
  },
  {
    name: 'access: failed files come back as they were',
    file: 'src/core/files/formula-guard.ts',
    from: '? text.slice(1) : text',
    to: '? text : text',
    tests: ['test/engine/failed-rows.test.ts'],
  },
  {
    name: 'access: a new password revokes keys where that is asked for',
    file: 'src/engine/accounts/change-user.ts',
    from: 'change.disabled || revokeKeys ?',
    to: 'change.disabled || (revokeKeys && false) ?',
    tests: ['test/api/account-access.test.ts'],
  },
  {
    name: 'access: webhooks of a disabled account stop',
    file: 'src/engine/accounts/change-user.ts',
    from: 'change.disabled ? await disableWebhooksOf(tx, userId) : 0',
    to: 'change.disabled && userId === "" ? await disableWebhooksOf(tx, userId) : 0',
    tests: ['test/api/account-access.test.ts'],
  },
  {
    name: 'access: one account creates keys one at a time',
    file: 'src/store/commands/accounts/insert-key.ts',
    from: 'and not disabled for no key update',
    to: 'and not disabled',
    tests: ['test/api/account-access.test.ts'],
  },
  {
    name: 'access: the first generated key is the one that all use',
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
    name: 'errors of XML that lose rows',
    file: 'src/ingest/formats/xlsx/xml-reader.ts',
    from: 'if (!FORGIVEN.includes(message))',
    to: 'if (FORGIVEN.length === 0)',
    tests: ['src/ingest/formats/xlsx/xml-reader.test.ts'],
  },
  {
    name: 'the deadline of the thread of a file',
    file: 'src/ingest/formats/file-threads.ts',
    from: 'busyMs() - since > limitMs',
    to: 'busyMs() - since > limitMs * 1_000_000',
    tests: ['src/ingest/formats/file-threads.test.ts'],
  },
  {
    name: 'the end of a thread on abort',
    file: 'src/ingest/formats/file-threads.ts',
    from: "  signal?.addEventListener('abort', onAbort, { once: true });\n",
    to: '',
    tests: ['src/ingest/formats/file-threads.test.ts'],
  },
  {
    name: 'the end of a thread that looks for a format when the client of a preview disconnects',
    file: 'src/api/jobs/preview-job.ts',
    from: 'await sniffFile(path, readLimits(settings), signal)',
    to: 'await sniffFile(path, readLimits(settings), signal.aborted ? signal : undefined)',
    tests: ['test/api/preview.test.ts'],
    named: 'disconnects',
  },
  {
    name: 'the end of a thread that opens a file when the client of a preview disconnects',
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
    name: 'the bound of sheets',
    file: 'src/ingest/formats/xlsx/workbook-parts.ts',
    from: 'const MAX_SHEETS = 1000;',
    to: 'const MAX_SHEETS = 1_000_000;',
    tests: ['src/ingest/formats/file-threads.test.ts'],
  },
  {
    name: 'the count of processes that a file ended',
    file: 'src/store/commands/jobs/ingest-lease.ts',
    from: 'ingest_takeovers = ingest_takeovers + (ingest_token is not null)::int',
    to: 'ingest_takeovers = ingest_takeovers',
    tests: ['test/engine/takeovers.test.ts'],
  },
  {
    name: 'the new count after a stored batch',
    file: 'src/store/commands/items/reserve-seqs.ts',
    from: 'case when $6::uuid is null then ingest_takeovers else 0 end',
    to: 'ingest_takeovers',
    tests: ['test/engine/takeovers.test.ts'],
  },
  {
    name: 'the count of processes that output ended',
    file: 'src/store/commands/jobs/finalize-lease.ts',
    from: 'finalize_takeovers = finalize_takeovers + (finalize_token is not null)::int',
    to: 'finalize_takeovers = finalize_takeovers',
    tests: ['test/engine/takeovers.test.ts'],
  },
  {
    name: 'progress only by a file that no attempt had written',
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
    // Every case: some safeties matter only in rare orders. Without a safety some jobs never end.
    env: { ...process.env, TEST_DEEP: '1', TEST_PATIENCE_MS: '60000' },
  });
}

/**
 * The tests that failed. Throws when nothing is proved: a test file was not run, or none of its tests was, as after a
 * set-up that failed.
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
if (stayedGreen > 0) console.log(`${stayedGreen} safeties are not guarded`);
if (voided > 0) console.log(`${voided} proofs are void`);
if (stayedGreen + voided === 0) console.log('every safety is guarded by a test');
process.exit(stayedGreen + voided === 0 ? 0 : 1);
