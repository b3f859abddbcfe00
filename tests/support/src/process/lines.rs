use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::watched::Watched;

/// What a process has written so far, to one of its pipes.
#[derive(Debug, Clone, Default)]
pub struct Lines(Arc<Watched<Written>>);

#[derive(Debug, Default)]
struct Written {
    lines: Vec<String>,
    ended: bool,
}

impl Lines {
    /// Reads `pipe` to its end.
    pub(super) fn of(pipe: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let lines = Lines::default();
        let written = lines.0.clone();
        tokio::spawn(async move {
            let mut read = BufReader::new(pipe).lines();
            while let Ok(Some(line)) = read.next_line().await {
                written.change(|written| written.lines.push(line));
            }
            written.change(|written| written.ended = true);
        });
        lines
    }

    /// Everything so far.
    pub fn text(&self) -> String {
        self.0.read().lines.join("\n")
    }

    /// Waits for the first line that `wanted` makes something of; `None` when
    /// the pipe ends without, or nothing comes for 30 s.
    pub async fn first<T>(&self, wanted: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = self.0.until(|| {
            let written = self.0.read();
            let found = written.lines.iter().find_map(|line| wanted(line));
            (found.is_some() || written.ended).then_some(found)
        });
        found.await.flatten()
    }

    /// Waits for a line with `text` in it.
    ///
    /// # Panics
    /// When none comes, with what came.
    pub async fn wait_for(&self, text: &str) -> String {
        let found = self.first(|line| line.contains(text).then(|| line.to_owned()));
        let found = found.await;
        found.unwrap_or_else(|| panic!("no line has {text:?}:\n{}", self.text()))
    }
}
