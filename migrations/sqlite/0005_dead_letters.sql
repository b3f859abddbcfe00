-- Jobs of the shared fleet that nobody will run any more. Not tied to
-- deployments: what failed stays to be looked at when they are forgotten.
create table dead_letters (
    seq           integer primary key autoincrement,
    id            text not null unique,
    deployment    text not null,
    class         text not null,
    fingerprint   text not null,
    cause         text not null check (cause in ('given_up', 'undeliverable')),
    kind          text not null,
    detail        text not null,
    attempts      integer not null check (attempts >= 0),
    failures      text not null,
    head          text,
    payload_bytes integer not null check (payload_bytes >= 0),
    cut           text not null,
    state         text not null check (state in ('open', 'replaying', 'replayed', 'discarded')),
    outcome       text,
    first_seen    integer not null,
    last_seen     integer not null,
    changed_at    integer not null
) strict;

create index dead_letters_by_fingerprint on dead_letters (fingerprint, seq);

-- Apart, so that reading letters does not read payloads.
create table dead_letter_payloads (
    letter  integer primary key references dead_letters (seq) on delete cascade,
    bytes   integer not null check (bytes >= 0),
    payload blob not null
) strict;

create index dead_letter_payloads_bytes on dead_letter_payloads (letter, bytes);
