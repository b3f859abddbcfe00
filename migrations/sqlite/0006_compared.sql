-- What was paid stands beside what would have been, for the same time. Rows of
-- before were counted by other rules and cannot be compared with it.
delete from what_if;

alter table what_if add column paid_nano_usd integer not null default 0
    check (paid_nano_usd >= 0);
