// The regular expressions of a source file: literals, and calls of RegExp with a constant pattern.
import { parseSync } from 'vite';

export interface FoundExpression {
  /** For example src/core/paging/cursor.ts:44. */
  where: string;
  source: string;
  flags: string;
}

interface SyntaxNode {
  type: string;
  start: number;
  regex?: { pattern: string; flags: string };
  callee?: { name?: string };
  arguments?: { type: string; value?: unknown }[];
}

export function expressionsIn(path: string, text: string): FoundExpression[] {
  const found: FoundExpression[] = [];
  const visit = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return;
    const node = value as Partial<SyntaxNode>;
    if (typeof node.type === 'string') add(node as SyntaxNode);
    for (const child of Object.values(value)) visit(child);
  };
  const add = (node: SyntaxNode): void => {
    const where = `${path}:${text.slice(0, node.start).split('\n').length}`;
    if (node.regex) found.push({ where, source: node.regex.pattern, flags: node.regex.flags });
    const [pattern, flags] = node.callee?.name === 'RegExp' ? (node.arguments ?? []) : [];
    if (typeof pattern?.value === 'string')
      found.push({ where, source: pattern.value, flags: String(flags?.value ?? '') });
  };
  visit(parseSync(path, text).program);
  return found;
}
