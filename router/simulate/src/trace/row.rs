/// One row as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Seconds, from anywhere.
    pub t_s: f64,
    /// Seconds of work, where the file says so.
    pub exec_s: Option<f64>,
    /// Tokens to read, where the file says so.
    pub in_tokens: Option<f64>,
    /// Tokens to write, where the file says so.
    pub out_tokens: Option<f64>,
    /// Which deployment it is for.
    pub deployment: usize,
}
