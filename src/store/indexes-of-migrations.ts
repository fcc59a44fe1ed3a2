// Names of the indexes that the migrations leave behind, read from their text. Indexes of primary keys and unique
// constraints are not among them: the invariant `one end` checks the ones that matter.
import { readMigrations } from './migrate.ts';

const STATEMENT =
  /^(?:create (?:unique )?index (?:concurrently )?(?:if not exists )?(?<created>\w+)|drop index (?:concurrently )?(?:if exists )?(?<dropped>\w+)|drop table (?:if exists )?(?<table>\w+)|alter index (?:if exists )?(?<from>\w+) rename to (?<to>\w+))(?: on (?:only )?(?<on>\w+))?/gim;

export function indexesOfMigrations(files: { text: string }[] = readMigrations()): string[] {
  /** Index to its table, by the name the table had. */
  const tables = new Map<string, string>();
  for (const { text } of files) {
    for (const { groups } of text.matchAll(STATEMENT)) {
      const { created, dropped, table, from, to, on } = groups!;
      if (created) tables.set(created, on ?? '');
      if (dropped) tables.delete(dropped);
      if (table) for (const [index, of] of tables) if (of === table) tables.delete(index);
      if (from && to && tables.has(from)) {
        tables.set(to, tables.get(from)!);
        tables.delete(from);
      }
    }
  }
  return [...tables.keys()].sort();
}
