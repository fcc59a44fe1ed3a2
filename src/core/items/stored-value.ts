// The type of a value after it was stored as JSON and read again, which is the type of `context.previous`.

/** Values without a JSON form. They fail the item if they are the whole value, and are left out as a field. */
type NoJson = ((...given: never[]) => unknown) | symbol;

export type StoredValue<Value> = unknown extends Value
  ? Value
  : Value extends { toJSON(...given: never[]): infer Written }
    ? StoredValue<Written>
    : Value extends string | number | boolean | null
      ? Value
      : Value extends undefined
        ? null
        : Value extends bigint | NoJson
          ? never
          : Value extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown> | PromiseLike<unknown>
            ? Record<string, never>
            : Value extends readonly unknown[]
              ? { [At in keyof Value]: StoredValue<Value[At]> }
              : Value extends object
                ? { [Key in keyof Value as StoredKey<Value, Key>]: StoredField<Value[Key]> }
                : Value;

type StoredKey<Value, Key extends keyof Value> = Key extends symbol
  ? never
  : [Value[Key]] extends [NoJson]
    ? never
    : Key;

/** An undefined field is left out, not null. */
type StoredField<Value> = unknown extends Value
  ? Value
  : Value extends undefined
    ? undefined
    : StoredValue<Value>;
