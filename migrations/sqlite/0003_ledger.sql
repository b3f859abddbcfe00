-- What was paid, by the hour (hours since 1970). Not tied to deployments: what
-- was paid stays paid when they are forgotten.
create table ledger (
    hour       integer not null,
    deployment text not null,
    tier       text not null,
    provider   text not null,
    micros     integer not null check (micros >= 0),
    nano_usd   integer not null check (nano_usd >= 0),
    primary key (hour, deployment, tier, provider)
) strict, without rowid;

create index ledger_by_deployment on ledger (deployment, hour);

-- What the same arrivals would have cost on one tier alone, and at best.
create table what_if (
    hour                integer not null,
    deployment          text not null,
    arrivals            integer not null check (arrivals >= 0),
    serverless_nano_usd integer not null check (serverless_nano_usd >= 0),
    pod_nano_usd        integer not null check (pod_nano_usd >= 0),
    optimum_nano_usd    integer not null check (optimum_nano_usd >= 0),
    primary key (hour, deployment)
) strict, without rowid;

-- Arrivals by slots of ten seconds (since 1970); empty slots are left out.
create table arrivals (
    slot       integer not null,
    deployment text not null,
    arrivals   integer not null check (arrivals > 0),
    primary key (slot, deployment)
) strict, without rowid;

-- Durations that were measured, as milliseconds and how often, `250:2 9000:1`.
create table measures (
    deployment text not null references deployments (name) on delete cascade,
    tier       text not null,
    what       text not null check (what in ('service', 'start')),
    counts     text not null,
    primary key (deployment, tier, what)
) strict, without rowid;
