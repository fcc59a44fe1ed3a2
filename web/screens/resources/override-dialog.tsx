// Overrides the limits of a resource while jobs run, until reset.
import { type FormEvent, useState } from 'react';
import type { z } from 'zod';
import type { listedResource } from '../../../src/contract/operations.ts';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { TextField } from '../../components/field.tsx';
import { say } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';

export type Resource = z.infer<typeof listedResource>;

type Change = Omit<Parameters<typeof client.changeResource>[0], 'name' | 'key'>;

const RESET: Change = {
  ratePerSecond: null,
  concurrency: null,
  minDelayMs: null,
  adaptive: null,
  paused: null,
};

export function OverrideDialog({ resource, onClose }: { resource: Resource; onClose: () => void }) {
  const { name, key, override, limits } = resource;
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (change: Change, done: string) => {
    setBusy(true);
    setError(null);
    try {
      await client.changeResource({ name, ...(key !== '' && { key }), ...change });
      say(done);
      void queries.invalidateQueries({ queryKey: ['resources'] });
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const declaredAdaptive = limits?.adaptive !== false;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    void send(
      {
        ratePerSecond: numberOf(form, 'ratePerSecond'),
        concurrency: numberOf(form, 'concurrency'),
        minDelayMs: numberOf(form, 'minDelayMs'),
        adaptive: (form.get('adaptive') !== null) === declaredAdaptive ? null : !declaredAdaptive,
        paused: form.get('paused') === null ? null : true,
      },
      `${name} updated`,
    );
  };
  const isAdaptive = override.adaptive ?? declaredAdaptive;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Edit ${name}`}
      description={
        key === '' ? 'Applies to all keys and workers immediately' : `Applies to ${key} immediately`
      }
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Calls per second"
            name="ratePerSecond"
            type="number"
            min={0.001}
            step="any"
            placeholder={placeholder(limits?.ratePerSecond)}
            defaultValue={textOf(override.ratePerSecond)}
          />
          <TextField
            label="Concurrent calls"
            name="concurrency"
            type="number"
            min={1}
            step={1}
            placeholder={placeholder(limits?.concurrency)}
            defaultValue={textOf(override.concurrency)}
          />
          <TextField
            label="Minimum delay (ms)"
            name="minDelayMs"
            type="number"
            min={0}
            step="any"
            placeholder={placeholder(limits?.minDelayMs)}
            defaultValue={textOf(override.minDelayMs)}
          />
        </div>
        <p className="text-[13px] text-muted">Empty = pipeline default</p>
        <CheckField
          name="adaptive"
          label="Adapt automatically"
          hint="Fewer calls when the service fails or is slow, more when it recovers."
          defaultChecked={isAdaptive !== false}
        />
        <CheckField
          name="paused"
          label="Pause"
          hint="No call starts; rows wait. Active calls finish."
          defaultChecked={override.paused === true}
        />
        {error !== null && <FailureNote error={error} />}
        <div className="flex flex-wrap justify-end gap-2">
          {Object.keys(override).length > 0 && (
            <Button className="mr-auto" disabled={isBusy} onClick={() => void send(RESET, `${name} reset`)}>
              Reset to defaults
            </Button>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={isBusy}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function numberOf(form: FormData, name: string): number | null {
  const text = String(form.get(name) ?? '').trim();
  return text === '' ? null : Number(text);
}

function textOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : '';
}

function placeholder(value: unknown): string {
  return typeof value === 'number' && value > 0 ? `${value} (default)` : 'no limit';
}
