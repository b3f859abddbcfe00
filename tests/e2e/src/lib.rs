//! Stories over the whole product; one file each.
