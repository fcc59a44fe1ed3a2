import { createLogger } from '../../src/platform/logger.ts';

export const silentLogger = createLogger('silent');
