-- A generation that was opened before the one before it had ended: a paused job goes on with it, and the rows that waited
-- stay in theirs. The generation before has no summary of its own; this one's speaks for both.
alter table generations add column continues boolean not null default false;
