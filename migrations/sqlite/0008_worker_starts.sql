-- How long requests waited for a worker is measured too.
create table measured (
    deployment text not null references deployments (name) on delete cascade,
    tier       text not null,
    what       text not null check (what in ('service', 'start', 'worker_start')),
    counts     text not null,
    primary key (deployment, tier, what)
) strict, without rowid;
insert into measured select deployment, tier, what, counts from measures;
drop table measures;
alter table measured rename to measures;
