-- The keys that results of a generation have, fed by the flush that first met one: grids and exports know their
-- columns without reading the results. Position is that in the object where the key was first seen.
create table result_columns (
  job_id     uuid not null,
  generation int not null,
  name       text not null,
  position   int not null,
  primary key (job_id, generation, name)
);
