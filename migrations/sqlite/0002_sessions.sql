-- Browsers that are logged in; like the token, the cookie is kept as a hash only.
create table sessions (
    hash       blob primary key check (length(hash) = 32),
    token_hash blob not null check (length(token_hash) = 32),
    expires_at integer not null
) strict, without rowid;
