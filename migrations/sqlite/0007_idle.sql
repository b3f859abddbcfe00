-- What was paid while no request was in hand. Of rows of before that is not known.
alter table ledger add column idle_nano_usd integer not null default 0
    check (idle_nano_usd >= 0);
