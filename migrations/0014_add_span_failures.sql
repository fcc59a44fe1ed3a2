-- Failed attempts so far at this phase by error class ("overloaded=2 throttled=1"): each class has attempts of its own.
-- A text, so that spans with the same history are equal and can be gathered into one lease.
alter table spans add column failures text not null default '';
