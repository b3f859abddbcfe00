-- Moments are microseconds since 1970, UTC. Money is in billionths of a US dollar.
-- A migration that was released is never edited: its checksum is kept.

create table installation (
    id               integer primary key check (id = 1),
    owner            text not null,
    admin_token_hash blob check (length(admin_token_hash) = 32)
) strict;

create table deployments (
    name       text primary key,
    generation integer not null check (generation > 0),
    spec       text not null,
    stopped    integer not null default 0 check (stopped in (0, 1)),
    deleting   integer not null default 0 check (deleting in (0, 1)),
    tier       text,
    created_at integer not null,
    updated_at integer not null
) strict;

-- Without a cascade: a deployment is not forgotten while anything of it may cost money.
create table instances (
    id           text primary key,
    deployment   text not null references deployments (name),
    tier         text not null,
    provider     text not null,
    slot         integer not null check (slot >= 0),
    state        text not null,
    provider_id  text,
    epoch        integer not null,
    generation   integer not null,
    fingerprint  text not null,
    address      text,
    usd_per_hour integer,
    detail       text not null,
    created_at   integer not null,
    changed_at   integer not null
) strict;

-- The single flight of starts, across processes and restarts.
create unique index instances_one_start
    on instances (deployment, tier, slot)
    where state in ('intended', 'starting');

create index instances_by_deployment on instances (deployment);

-- autoincrement: a number is never used again, also after its event was pruned.
create table events (
    seq        integer primary key autoincrement,
    at         integer not null,
    kind       text not null,
    deployment text,
    body       text not null
) strict;

create table decisions (
    id         integer primary key autoincrement,
    deployment text not null references deployments (name) on delete cascade,
    at         integer not null,
    from_tier  text,
    to_tier    text not null,
    reason     text not null,
    refused    integer not null check (refused in (0, 1)),
    inputs     text not null
) strict;

create index decisions_by_deployment on decisions (deployment, id);
