-- compatible from: 49
-- Alerts: a webhook can also be a chat channel or a mail address. A job without progress is reported once per stretch;
-- stuck_since is the time of the last progress before the reported stretch.
alter table webhooks add column format text not null default 'signed' check (format in ('signed', 'slack', 'mail'));
alter table jobs add column stuck_since timestamptz;
