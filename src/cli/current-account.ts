// The operating-system user that runs the command, for the audit log.
import { userInfo } from 'node:os';

export function currentAccount(): string {
  try {
    return userInfo().username;
  } catch {
    // Some containers have accounts without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
