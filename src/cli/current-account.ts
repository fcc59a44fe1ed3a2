// Who a command is run by, for the audit.
import { userInfo } from 'node:os';

export function currentAccount(): string {
  try {
    return userInfo().username;
  } catch {
    // An account without a name, as in some containers.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
