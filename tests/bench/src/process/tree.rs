//! A process and everything that descends from it.

use std::fs;

use super::stat::parse_stat;

/// `root` and its descendants that run now, `root` first.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let parents = parents();
    let mut members = vec![root];
    let mut at = 0;
    while let Some(parent) = members.get(at).copied() {
        members.extend(
            parents
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(pid, _)| *pid),
        );
        at += 1;
    }
    members
}

/// Every process with its parent.
fn parents() -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| Some((pid, parent(pid)?)))
        .collect()
}

fn parent(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&text).map(|stat| stat.parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_a_child_belongs_to_the_tree() {
        let mut outer = std::process::Command::new("sh");
        outer.args(["-c", "exec 3<&0; read line <&3 & echo $!; wait"]);
        outer
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let mut child = outer.spawn().unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        let found = tree(std::process::id());
        assert!(found.contains(&child.id()) && found.contains(&line.trim().parse().unwrap()));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
