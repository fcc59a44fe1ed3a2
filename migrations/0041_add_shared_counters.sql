-- A shared counter has one set of numbers for all owners: its rows stand under the owner '*'.
alter table counters add column shared boolean not null default false;
