// Detects regular expressions that can take more than linear time. scslre finds repetitions of a single character; the
// two rules here add a repetition inside a repetition, and one that reads over its own beginning.
import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp';
import { analyse } from 'scslre';

/** Null: it is linear. */
export function explainSlowExpression(source: string, flags: string): string | null {
  const literal = new RegExpParser().parseLiteral(`/${source}/${flags}`);
  const nested = findNested(literal);
  if (nested !== null) return `${nested} repeats a repetition`;
  const [report] = analyse({ source, flags }).reports;
  if (report)
    return report.type === 'Move'
      ? `${report.quant.raw} starts again at every character that it read`
      : 'two repetitions can share a text between them';
  for (const alternative of literal.pattern.alternatives) {
    const again = findRestart(alternative, flags);
    if (again !== null) return `${again} reads over the beginning of the next match`;
  }
  return null;
}

function findNested(literal: AST.RegExpLiteral): string | null {
  let depth = 0;
  let found: string | null = null;
  visitRegExpAST(literal, {
    onQuantifierEnter(node) {
      if (node.max !== Number.POSITIVE_INFINITY) return;
      depth += 1;
      if (depth > 1) found = node.raw;
    },
    onQuantifierLeave(node) {
      if (node.max === Number.POSITIVE_INFINITY) depth -= 1;
    },
  });
  return found;
}

/**
 * Without an anchor a match is tried at every position. A repetition that also matches the characters before it, and
 * that something must follow, scans the rest of the text from each of them.
 */
function findRestart(alternative: AST.Alternative, flags: string): string | null {
  const { elements } = alternative;
  const [first] = elements;
  if (first?.type === 'Assertion' && first.kind === 'start' && !flags.includes('m')) return null;
  let before = '';
  for (const [at, element] of elements.entries()) {
    const isOpen = element.type === 'Quantifier' && element.max === Number.POSITIVE_INFINITY;
    if (isOpen && before !== '' && at < elements.length - 1) {
      const taken = new RegExp(`^(?:${element.element.raw})+$`, flags.replace(/[gy]/g, ''));
      if (taken.test(before)) return element.raw;
    }
    before += exampleOf(element, flags);
  }
  return null;
}

const CANDIDATES = Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code));

/** A short text that the element matches; '' for an assertion and for an optional element. */
function exampleOf(element: AST.Element, flags: string): string {
  switch (element.type) {
    case 'Character':
      return String.fromCodePoint(element.value);
    case 'CharacterClass':
    case 'CharacterSet': {
      const pattern = new RegExp(`^${element.raw}$`, flags.replace(/[gy]/g, ''));
      return CANDIDATES.find((text) => pattern.test(text)) ?? '';
    }
    case 'Group':
    case 'CapturingGroup':
      return element.alternatives[0]!.elements.map((each) => exampleOf(each, flags)).join('');
    case 'Quantifier':
      return element.min === 0 ? '' : exampleOf(element.element, flags);
    default:
      return '';
  }
}
