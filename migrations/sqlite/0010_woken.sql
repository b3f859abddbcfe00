-- How long requests took that found no worker up, service included. What was
-- measured in its place was a guess, and is dropped.
create table measured (
    deployment text not null references deployments (name) on delete cascade,
    tier       text not null,
    what       text not null check (what in ('service', 'start', 'woken')),
    counts     text not null,
    primary key (deployment, tier, what)
) strict, without rowid;
insert into measured select deployment, tier, what, counts from measures
    where what in ('service', 'start');
drop table measures;
alter table measured rename to measures;
