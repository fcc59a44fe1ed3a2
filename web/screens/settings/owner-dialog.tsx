// Edits the quota of an owner.
import type { z } from 'zod';
import type { owner as ownerSchema } from '../../../src/contract/operations.ts';
import { MAX_KEEP_DAYS } from '../../../src/core/jobs/retention.ts';
import {
  MAX_OWNER_BUDGET,
  MAX_OWNER_LIMIT,
  MAX_OWNER_WEIGHT,
} from '../../../src/core/limits/owner-limits.ts';
import { TextField } from '../../components/field.tsx';
import { FormDialog, textIn } from '../../components/form-dialog.tsx';
import { say } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import { withPassword } from '../../lib/with-password.ts';

export interface OwnerDialogProps {
  /** Null: a new quota. */
  owner: z.infer<typeof ownerSchema> | null;
  onClose: () => void;
}

export function OwnerDialog({ owner, onClose }: OwnerDialogProps) {
  const change = async (form: FormData) => {
    const ownerId = owner?.ownerId ?? textIn(form, 'ownerId');
    await withPassword(() =>
      client.changeOwner({
        ownerId,
        weight: Number(textIn(form, 'weight')),
        maxRunningJobs: limitIn(form, 'maxRunningJobs'),
        maxInFlight: limitIn(form, 'maxInFlight'),
        keepDays: limitIn(form, 'keepDays'),
        budgetTotal: limitIn(form, 'budgetTotal'),
        budgetPerDay: limitIn(form, 'budgetPerDay'),
      }),
    );
    say(`Quota for ${ownerId} updated`);
    void queries.invalidateQueries({ queryKey: ['owners'] });
  };
  return (
    <FormDialog
      title={owner ? `Edit quota for ${owner.ownerId}` : 'Add quota'}
      action="Save"
      onClose={onClose}
      onSubmit={change}
    >
      {!owner && (
        <TextField
          label="Owner"
          name="ownerId"
          hint="A username, or a team such as @sales"
          maxLength={200}
          required
        />
      )}
      <TextField
        label="Share of workers"
        name="weight"
        type="number"
        min={1}
        max={MAX_OWNER_WEIGHT}
        step={1}
        defaultValue={owner?.weight ?? 1}
        required
      />
      <TextField
        label="Max jobs"
        name="maxRunningJobs"
        type="number"
        min={1}
        max={MAX_OWNER_LIMIT}
        step={1}
        defaultValue={owner?.maxRunningJobs ?? ''}
        hint="Leave empty for no limit. Further jobs wait."
      />
      <TextField
        label="Max rows"
        name="maxInFlight"
        type="number"
        min={1}
        max={MAX_OWNER_LIMIT}
        step={1}
        defaultValue={owner?.maxInFlight ?? ''}
        hint="Leave empty for no limit. Counts active calls across all workers."
      />
      <TextField
        label="Days to keep jobs"
        name="keepDays"
        type="number"
        min={0}
        max={MAX_KEEP_DAYS}
        step={1}
        defaultValue={owner?.keepDays ?? ''}
        hint="After they have finished. 0 keeps them for ever. Empty: the pipeline or the server decides."
      />
      <TextField
        label="Budget"
        name="budgetTotal"
        type="number"
        min={0}
        max={MAX_OWNER_BUDGET}
        step="any"
        defaultValue={owner?.budgetTotal ?? ''}
        hint="Maximum total cost. Leave empty for no limit."
      />
      <TextField
        label="Budget per day"
        name="budgetPerDay"
        type="number"
        min={0}
        max={MAX_OWNER_BUDGET}
        step="any"
        defaultValue={owner?.budgetPerDay ?? ''}
        hint="Maximum cost per day, in UTC. Leave empty for no limit."
      />
    </FormDialog>
  );
}

/** Null: no limit. */
function limitIn(form: FormData, name: string): number | null {
  const text = textIn(form, name);
  return text === '' ? null : Number(text);
}
