-- People, teams, sessions and keys. Of passwords, tokens and keys only hashes are stored. The role of workers has no access
-- to any of these tables (docs/accounts.md).
create table teams (
  team_id    text primary key check (team_id ~ '^@[a-z0-9][a-z0-9._-]{1,59}$'),
  created_at timestamptz not null default now()
);

-- The name is the owner of the jobs that somebody makes, so it never changes and is never given away again.
create table users (
  user_id         text primary key check (user_id ~ '^[a-z0-9][a-z0-9._-]{1,59}$'),
  role            text not null check (role in ('viewer', 'member', 'admin')),
  team_id         text references teams,
  disabled        boolean not null default false,
  password_hash   text not null check (password_hash like '$scrypt$%'),
  -- Made with the setup token. Of these there is one, whatever races.
  is_first        boolean not null default false,
  created_at      timestamptz not null default now(),
  last_sign_in_at timestamptz
);
create unique index users_first on users (is_first) where is_first;
create index users_by_team on users (team_id, user_id) where team_id is not null;

create table sessions (
  token_hash   bytea primary key check (octet_length(token_hash) = 32),
  user_id      text not null references users on delete cascade,
  created_at   timestamptz not null default now(),
  -- Written at most once a minute. A session that was not seen for long has ended.
  last_seen_at timestamptz not null default now(),
  -- When the password was given last.
  confirmed_at timestamptz not null default now(),
  expires_at   timestamptz not null check (expires_at > created_at)
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

create table api_keys (
  key_id       text primary key check (key_id ~ '^[0-9a-f]{16}$'),
  secret_hash  bytea not null check (octet_length(secret_hash) = 32),
  user_id      text not null references users on delete cascade,
  name         text not null check (length(name) between 1 and 100),
  scopes       text[] not null check (cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'export', 'admin']),
  created_at   timestamptz not null default now(),
  expires_at   timestamptz check (expires_at > created_at),
  -- Written at most once a minute.
  last_used_at timestamptz,
  revoked_at   timestamptz
);
create index api_keys_by_user on api_keys (user_id, created_at desc, key_id);

-- At most one row: what lets the first account be made. A start of the server without accounts replaces it.
create table setup_token (
  is_only    boolean primary key default true check (is_only),
  token_hash bytea not null check (octet_length(token_hash) = 32),
  expires_at timestamptz not null
);

-- Attempts to sign in per account and per address, as buckets that empty with time. The subject is a hash: what people
-- type into the field of the name may be their password.
create table sign_in_attempts (
  subject bytea primary key check (octet_length(subject) = 32),
  level   double precision not null check (level >= 0),
  at      timestamptz not null default now()
) with (fillfactor = 50);
create index sign_in_attempts_by_age on sign_in_attempts (at);
