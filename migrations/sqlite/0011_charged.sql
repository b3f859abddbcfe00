-- Until when the ledger has what an instance costs, and when its provider ends it by
-- itself if nobody renews it. Of rows of before that is not known, and they begin anew.
alter table instances add column charged_until integer;
alter table instances add column ends_by integer;
