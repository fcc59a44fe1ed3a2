-- Items that handlers emitted: which item they come from, and how far from the input.
alter table items
  add column parent_seq bigint,
  add column depth      smallint not null default 0;
