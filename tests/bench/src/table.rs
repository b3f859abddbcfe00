//! Text tables: the first column to the left, all others to the right.

/// Renders rows, the first of which is the heading, with two spaces between columns.
pub(crate) fn render(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    rows.iter().map(|row| line(row, &widths)).collect()
}

fn line(row: &[String], widths: &[usize]) -> String {
    let pad = |(column, cell): (usize, &String)| match (column, widths[column]) {
        (0, width) => format!("{cell:<width$}"),
        (_, width) => format!("  {cell:>width$}"),
    };
    let cells: String = row.iter().enumerate().map(pad).collect();
    format!("{}\n", cells.trim_end())
}

/// What stands where there is no figure.
pub(crate) fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "–".to_owned())
}

/// Nanoseconds as µs or ms.
pub(crate) fn duration(nanos: u64) -> String {
    let micros = nanos as f64 / 1e3;
    if micros < 1e3 {
        format!("{micros:.0} µs")
    } else {
        format!("{:.1} ms", micros / 1e3)
    }
}

/// Bytes as MiB.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows =
            [["target", "p50"], ["nginx", "90 µs"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(render(&rows), "target    p50\nnginx   90 µs\n");
    }

    #[test]
    fn durations_choose_their_unit() {
        assert_eq!(
            (duration(90_400), duration(1_250_000)),
            ("90 µs".into(), "1.2 ms".into())
        );
    }
}
