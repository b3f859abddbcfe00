//! The files of `/proc` that are read here, and what they mean (proc(5)).

use std::time::Duration;

/// `USER_HZ` is 100 on every Linux that Rust's standard library runs on.
const TICK: Duration = Duration::from_millis(10);

/// What `/proc/PID/stat` says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) parent: u32,
    /// User and system time, in steps of 10 ms.
    pub(crate) cpu: Duration,
}

/// Reads a `stat`; the name in it may hold spaces and parentheses.
pub(crate) fn parse_stat(text: &str) -> Option<Stat> {
    let (_, after_name) = text.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u32>().ok();
    let ticks = number(11)?.checked_add(number(12)?)?;
    Some(Stat {
        parent: number(1)?,
        cpu: TICK * ticks,
    })
}

/// Time on a processor from a `schedstat`, to the nanosecond; zero means not counted.
pub(crate) fn parse_schedstat(text: &str) -> Option<Duration> {
    let nanos = text.split_ascii_whitespace().next()?.parse().ok()?;
    (nanos > 0).then(|| Duration::from_nanos(nanos))
}

/// A size from a line like `Rss:    12 kB` of `smaps_rollup` or `status`, in bytes.
pub(crate) fn parse_size(text: &str, key: &str) -> Option<u64> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "4211 (nginx: (a) b) S 4200 4200 4200 0 -1 4194304 812 0 3 0 150 75 7 9 20 0 1 0 88 9";

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = Stat {
            parent: 4200,
            cpu: Duration::from_millis(2250),
        };
        assert_eq!(parse_stat(STAT), Some(stat));
    }

    #[test]
    fn cut_off_files_are_nothing() {
        assert_eq!(parse_stat("4211 (nginx) S 4200"), None);
        assert_eq!(parse_stat(""), None);
        assert_eq!(parse_schedstat(""), None);
    }

    #[test]
    fn schedstat_counts_nanoseconds_or_not_at_all() {
        assert_eq!(
            parse_schedstat("81030 1034523 2\n"),
            Some(Duration::from_nanos(81_030))
        );
        assert_eq!(parse_schedstat("0 0 0\n"), None);
    }

    #[test]
    fn sizes_are_told_apart_by_the_whole_key() {
        let text = "5581-7ffd ---p 00000000 00:00 0 [rollup]\nRss:        1044 kB\nPss:         96 kB\nPss_Anon: 92 kB\n";
        assert_eq!(parse_size(text, "Rss"), Some(1044 << 10));
        assert_eq!(parse_size(text, "Pss"), Some(96 << 10));
        assert_eq!(parse_size(text, "Swap"), None);
    }
}
