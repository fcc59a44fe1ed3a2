-- Counters: rollups that handlers feed, exact at any time (docs/counters.md). Measures are stored as arrays in the order of
-- counters.measures, to which new ones are appended and from which none is removed; an array that is too short for a measure
-- has 0 of it. All texts of keys are in byte order: it is the one order in which rows are locked.
create table counters (
  counter_id int generated always as identity primary key,
  name       text collate "C" not null unique,
  -- What scopes and entities are called: project, document.
  scope      text not null,
  entity     text not null,
  measures   text[] not null check (cardinality(measures) between 1 and 16),
  created_at timestamptz not null default now()
);

-- What every (scope, entity) of an owner has. Its value is the sum of the contributions that were written in its epoch and
-- not taken back, plus what removed jobs left (`settled`). Each replacement begins an epoch.
create table counter_entries (
  entry_id   bigint generated always as identity unique,
  counter_id int not null,
  owner_id   text collate "C" not null,
  scope      text collate "C" not null,
  entity     text collate "C" not null,
  epoch      bigint not null default 0,
  -- An alarm: sums of numbers from 0 cannot fall below it, and JavaScript is exact up to 2^53 - 1.
  measured   bigint[] not null constraint counter_entries_range check (0 <= all (measured) and 9007199254740991 >= all (measured)),
  -- What the last write changed: new minus old, computed under the lock of the row.
  change     bigint[] not null,
  settled    bigint[] not null default '{}',
  updated_at timestamptz not null default now(),
  primary key (counter_id, owner_id, scope, entity)
) with (fillfactor = 80);
-- The scopes of an entity. Measures are in no index, so that updates stay in their page.
create index counter_entries_by_entity on counter_entries (counter_id, owner_id, entity, scope);

-- An entity over all scopes of its owner.
create table counter_entities (
  counter_id int not null,
  owner_id   text collate "C" not null,
  entity     text collate "C" not null,
  measured   bigint[] not null constraint counter_entities_range check (0 <= all (measured) and 9007199254740991 >= all (measured)),
  change     bigint[] not null,
  updated_at timestamptz not null default now(),
  primary key (counter_id, owner_id, entity)
) with (fillfactor = 80);

-- A scope over all its entities, as far as it was folded: the truth is this plus the deltas. No check: deltas are folded in
-- no order, so what is folded may pass through any number.
create table counter_scopes (
  counter_id int not null,
  owner_id   text collate "C" not null,
  scope      text collate "C" not null,
  measured   bigint[] not null,
  updated_at timestamptz not null default now(),
  primary key (counter_id, owner_id, scope)
) with (fillfactor = 80);

-- Appended by every change, one row per scope; folded into counter_scopes within seconds. Nothing waits for a row that all
-- flushes of a scope would share.
create table counter_scope_deltas (
  delta_id   bigint generated always as identity primary key,
  counter_id int not null,
  owner_id   text collate "C" not null,
  scope      text collate "C" not null,
  change     bigint[] not null,
  at         timestamptz not null default now()
);
create index counter_scope_deltas_by_scope on counter_scope_deltas (counter_id, owner_id, scope);

-- What an item contributed in a phase, stored with its outcome: at most one row per entry.
create table counter_contributions (
  job_id        uuid not null,
  seq           bigint not null,
  generation    int not null,
  phase         smallint not null,
  entry_id      bigint not null,
  epoch         bigint not null,
  measured      bigint[] not null,
  -- The generation that runs this phase of the item again, and so does not count it.
  taken_back_by int,
  primary key (job_id, seq, generation, phase, entry_id)
);
-- The recount of an entry.
create index counter_contributions_by_entry on counter_contributions (entry_id) where taken_back_by is null;
