// Reads the options of a new job from the form, with problems by field.

export interface JobOptionTexts {
  name: string;
  trial: string;
  budgetMax: string;
  budgetPerItem: string;
  priority: string;
  hold: boolean;
  again: boolean;
}

export const NO_OPTIONS: JobOptionTexts = {
  name: '',
  trial: '',
  budgetMax: '',
  budgetPerItem: '',
  priority: '',
  hold: false,
  again: false,
};

export interface JobOptionValues {
  name?: string;
  trial?: number;
  budget?: { max?: number; perItem?: number };
  priority?: number;
  hold?: boolean;
  again?: boolean;
}

const PRIORITY_MAX = 30_000;

export function readJobOptions(texts: JobOptionTexts): {
  values: JobOptionValues;
  problems: Record<string, string>;
} {
  const problems: Record<string, string> = {};
  const numberOf = (key: 'trial' | 'budgetMax' | 'budgetPerItem' | 'priority'): number | undefined => {
    if (texts[key].trim() === '') return undefined;
    const value = Number(texts[key]);
    const isWhole = key === 'trial' || key === 'priority';
    if (!Number.isFinite(value) || (isWhole && !Number.isInteger(value)))
      problems[key] = isWhole ? 'Enter a whole number' : 'Enter a number';
    else if (key === 'trial' && value < 1) problems[key] = 'At least 1';
    else if (key === 'priority' && Math.abs(value) > PRIORITY_MAX)
      problems[key] = `From -${PRIORITY_MAX} to ${PRIORITY_MAX}`;
    else if (key !== 'priority' && value < 0) problems[key] = 'At least 0';
    return value;
  };
  const [trial, max, perItem, priority] = [
    numberOf('trial'),
    numberOf('budgetMax'),
    numberOf('budgetPerItem'),
    numberOf('priority'),
  ];
  const name = texts.name.trim();
  return {
    values: {
      ...(name !== '' && { name }),
      ...(trial !== undefined && { trial }),
      ...((max !== undefined || perItem !== undefined) && {
        budget: { ...(max !== undefined && { max }), ...(perItem !== undefined && { perItem }) },
      }),
      ...(priority !== undefined && { priority }),
      ...(texts.hold && { hold: true }),
      ...(texts.again && { again: true }),
    },
    problems,
  };
}

/** Whether the job could spend without a limit. */
export function isUnbounded(values: JobOptionValues): boolean {
  return values.budget?.max === undefined && values.trial === undefined && values.hold !== true;
}
