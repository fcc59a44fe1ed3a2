// The log of one call, for its handler: each line goes to the logger of the process and to the lines of the attempt.
import type { LineLevel } from '../../core/items/log-lines.ts';
import type { ItemLog, WriteLine } from '../../pipeline/item-log.ts';
import type { Logger } from '../../platform/logger.ts';

type Keep = (level: LineLevel, message: string, fields: object) => void;

/** `inherited`: fields of `child` loggers, which stored lines include. */
export function createItemLog(log: Logger, keep: Keep, inherited: object | null = null): ItemLog {
  const writeAt = (level: LineLevel | 'debug'): WriteLine => {
    return (first: object | string, second?: object | string): void => {
      const isMessageFirst = typeof first === 'string';
      const message = String((isMessageFirst ? first : second) ?? '');
      const given = isMessageFirst ? second : first;
      const fields = typeof given === 'object' && given !== null ? given : {};
      log[level](fields, message);
      if (level !== 'debug') keep(level, message, inherited ? { ...inherited, ...fields } : fields);
    };
  };
  const info = writeAt('info');
  return Object.assign(((...line: Parameters<WriteLine>) => info(...line)) as WriteLine, {
    debug: writeAt('debug'),
    info,
    warn: writeAt('warn'),
    error: writeAt('error'),
    child: (fields: object) => createItemLog(log.child(fields), keep, { ...inherited, ...fields }),
  });
}
