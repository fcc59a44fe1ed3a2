// The log of one call, for its handler: each line goes to the logger of the process and to the lines of the attempt.
import type { LineLevel } from '../../core/items/log-lines.ts';
import type { ItemLog, WriteLine } from '../../pipeline/item-log.ts';
import type { Logger } from '../../platform/logger.ts';

type Keep = (level: LineLevel, message: string, fields: object) => void;

/**
 * `common`: fields of every line in the log of the process. `inherited`: fields of `child` loggers, which stored lines
 * include too.
 */
export function createItemLog(
  log: Logger,
  common: object,
  keep: Keep,
  inherited: object | null = null,
): ItemLog {
  const writeAt = (level: LineLevel | 'debug'): WriteLine => {
    return (first: object | string, second?: object | string): void => {
      const isMessageFirst = typeof first === 'string';
      const message = String((isMessageFirst ? first : second) ?? '');
      const given = isMessageFirst ? second : first;
      const own = typeof given === 'object' && given !== null ? given : {};
      const fields = inherited ? { ...inherited, ...own } : own;
      // Without a child logger per call: creating one costs more than a stored line.
      if (log.isLevelEnabled?.(level) !== false) log[level]({ ...fields, ...common }, message);
      if (level !== 'debug') keep(level, message, fields);
    };
  };
  // Set one by one: Object.assign costs three times as much.
  const itemLog = writeAt('info') as { -readonly [Key in keyof ItemLog]: ItemLog[Key] } & WriteLine;
  itemLog.debug = writeAt('debug');
  itemLog.info = itemLog;
  itemLog.warn = writeAt('warn');
  itemLog.error = writeAt('error');
  itemLog.child = (fields) => createItemLog(log, common, keep, { ...inherited, ...fields });
  return itemLog;
}
