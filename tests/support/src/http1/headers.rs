use bytes::Bytes;

/// Header fields in the order and the bytes in which they were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(Bytes, Bytes)>);

impl Headers {
    /// Appends a field.
    pub fn push(&mut self, name: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.0.push((name.into(), value.into()));
    }

    /// Every field as sent, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(name, value)| (&name[..], &value[..]))
    }

    /// Every value of `name`, whose case does not matter.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        self.iter()
            .filter(move |(n, _)| n.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// The first value of `name` that is UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).find_map(|v| std::str::from_utf8(v).ok())
    }

    /// Whether the field was sent at all.
    pub fn contains(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// Whether `token` is an element of the comma-separated list `name`, in any case.
    pub fn lists(&self, name: &str, token: &str) -> bool {
        self.all(name)
            .flat_map(|value| value.split(|byte| *byte == b','))
            .any(|item| item.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        for (name, value) in self.iter() {
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
    }
}

impl From<&[httparse::Header<'_>]> for Headers {
    fn from(fields: &[httparse::Header<'_>]) -> Self {
        let owned = |f: &httparse::Header<'_>| {
            let name = Bytes::copy_from_slice(f.name.as_bytes());
            (name, Bytes::copy_from_slice(f.value))
        };
        Headers(fields.iter().map(owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Headers {
        let mut headers = Headers::default();
        headers.push("Connection", "keep-alive, Upgrade");
        headers.push("x-Twice", "1");
        headers.push("X-twice", &b"\xff"[..]);
        headers
    }

    #[test]
    fn names_are_found_in_any_case_and_kept_as_sent() {
        let headers = sample();
        assert_eq!(headers.all("X-TWICE").count(), 2);
        assert_eq!(headers.get("x-twice"), Some("1"));
        assert!(headers.iter().any(|(name, _)| name == b"x-Twice"));
    }

    #[test]
    fn a_token_is_found_inside_a_list() {
        let headers = sample();
        assert!(headers.lists("connection", "upgrade"));
        assert!(!headers.lists("connection", "keep"));
    }

    #[test]
    fn what_is_written_is_what_was_pushed() {
        let mut out = Vec::new();
        sample().write_to(&mut out);
        assert_eq!(
            out,
            b"Connection: keep-alive, Upgrade\r\nx-Twice: 1\r\nX-twice: \xff\r\n"
        );
    }
}
