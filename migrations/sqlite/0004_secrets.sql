-- A value is sealed by the server, whose key is never in here.
create table secrets (
    name       text primary key,
    sealed     blob not null,
    created_at integer not null,
    updated_at integer not null
) strict;
