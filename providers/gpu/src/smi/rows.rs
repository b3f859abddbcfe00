//! What `nvidia-smi` writes: a line for each GPU.

use csv::{ReaderBuilder, StringRecord, Trim};
use thermocline_provider::Gpu;

/// What it is asked. Free memory and not used: what the driver keeps for itself
/// is in neither.
pub(super) const QUERY: [&str; 2] = [
    "--query-gpu=index,uuid,name,memory.total,memory.free,mig.mode.current",
    "--format=csv,noheader,nounits",
];

const MIB: u64 = 1 << 20;
const LONGEST_LINE: usize = 200;

/// The GPUs that `text` tells of. One whose memory is not told is left out, and
/// so is one that is cut into MIG slices: whole it cannot be had.
///
/// # Errors
/// What is no line of a GPU.
pub(super) fn gpus(text: &str) -> Result<Vec<Gpu>, String> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .quoting(false)
        .trim(Trim::All)
        .from_reader(text.as_bytes());
    let rows = reader.records().filter_map(|row| match row {
        Ok(row) => gpu(&row).transpose(),
        Err(error) => Some(Err(error.to_string())),
    });
    rows.collect()
}

fn gpu(row: &StringRecord) -> Result<Option<Gpu>, String> {
    let fields: Vec<&str> = row.iter().collect();
    let [index, uuid, name, total, free, mig] = fields[..] else {
        return Err(format!("not a GPU: {}", first_line(&fields.join(", "))));
    };
    let index = index
        .parse()
        .map_err(|_| format!("not a GPU's number: {}", first_line(index)))?;
    let Some(total) = bytes(total).filter(|_| mig != "Enabled") else {
        return Ok(None);
    };
    Ok(Some(Gpu {
        index,
        uuid: Some(uuid.to_owned()).filter(|uuid| uuid.starts_with("GPU-")),
        name: name.to_owned(),
        total,
        used: bytes(free).map(|free| total.saturating_sub(free)),
    }))
}

/// MiB as bytes; `None` for `[N/A]`, `[Unknown Error]` and the like.
fn bytes(field: &str) -> Option<u64> {
    field.parse::<u64>().ok()?.checked_mul(MIB)
}

/// The first line of `text`, short and without control characters.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let printable = line.chars().filter(|c| !c.is_control());
    printable.take(LONGEST_LINE).collect()
}
