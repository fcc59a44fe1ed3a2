-- compatible from: 49
-- The last attempts of a delivery, oldest first: when, with which headers, and the beginning of the response. A message
-- that is sent again gets all attempts once more; earlier_attempts counts those from before.
alter table deliveries
  add column attempt_log      jsonb not null default '[]',
  add column earlier_attempts int not null default 0;
