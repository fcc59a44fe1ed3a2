// Preloaded into a process (and its threads) to shift its wall clock by SHIFT_DATE_MS.
const shiftMs = Number(process.env.SHIFT_DATE_MS);
const RealDate = Date;

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + shiftMs);
    else super(...parts);
  }

  static now() {
    return RealDate.now() + shiftMs;
  }
};
