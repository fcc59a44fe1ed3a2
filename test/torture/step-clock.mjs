// Preloaded into a process (and its threads) to shift its wall clock by the milliseconds in CLOCK_FILE, which may
// change while it runs. Timers and performance.now() keep their pace, as on a machine whose clock is set.
import { readFileSync } from 'node:fs';

const RealDate = Date;
let offsetMs = 0;

function readOffset() {
  try {
    offsetMs = Number(readFileSync(process.env.CLOCK_FILE, 'utf8')) || 0;
  } catch {
    // The file is being replaced: the old offset still applies.
  }
}

readOffset();
setInterval(readOffset, 250).unref();

globalThis.Date = class SteppedDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + offsetMs);
    else super(...parts);
  }

  static now() {
    return RealDate.now() + offsetMs;
  }
};
