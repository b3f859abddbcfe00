//! Just enough HTTP/1.1: heads, bodies that are counted and dropped, chunks.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The longest line of a head, bytes.
const LONGEST_LINE: u64 = 64 * 1024;

/// One request, its body already read.
pub struct Request {
    pub method: String,
    pub path: String,
    /// The bytes of the body, without framing.
    pub bytes: u64,
    /// Whether the client wants the connection closed afterwards.
    pub close: bool,
    query: String,
}

impl Request {
    /// A number of the query string.
    pub fn query_number(&self, name: &str) -> Option<u32> {
        let pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(key, _)| *key == name);
        values.next()?.1.parse().ok()
    }
}

/// How a head says that its body is framed.
#[derive(Default)]
struct Framing {
    length: u64,
    chunked: bool,
    close: bool,
    expects: bool,
}

impl Framing {
    fn note(&mut self, line: &str) -> io::Result<()> {
        let (name, value) = line.split_once(':').ok_or_else(malformed)?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => self.length = value.parse().map_err(|_| malformed())?,
            "transfer-encoding" => self.chunked = value.eq_ignore_ascii_case("chunked"),
            "connection" => self.close |= value.eq_ignore_ascii_case("close"),
            "expect" => self.expects = true,
            _ => {}
        }
        Ok(())
    }
}

/// One client's connection.
pub struct Connection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Connection {
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let reader = BufReader::new(stream.try_clone()?);
        Ok(Connection {
            reader,
            writer: stream,
        })
    }

    /// The next request; `None` when the client has no more.
    pub fn request(&mut self) -> io::Result<Option<Request>> {
        let start = self.line()?;
        if start.is_empty() {
            return Ok(None);
        }
        let mut words = start.split(' ').map(str::to_owned);
        let method = words.next().unwrap_or_default();
        let target = words.next().ok_or_else(malformed)?;
        let framing = self.head()?;
        if framing.expects {
            self.writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let bytes = self.body(&framing)?;
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let (path, query) = (path.to_owned(), query.to_owned());
        Ok(Some(Request {
            method,
            path,
            bytes,
            close: framing.close,
            query,
        }))
    }

    fn head(&mut self) -> io::Result<Framing> {
        let mut framing = Framing::default();
        loop {
            match self.line()? {
                line if line.is_empty() => return Ok(framing),
                line => framing.note(&line)?,
            }
        }
    }

    fn body(&mut self, framing: &Framing) -> io::Result<u64> {
        if !framing.chunked {
            return self.skip(framing.length);
        }
        let mut bytes = 0;
        loop {
            let line = self.line()?;
            let size = line.split(';').next().unwrap_or_default().trim();
            match u64::from_str_radix(size, 16).map_err(|_| malformed())? {
                0 => break,
                size => bytes += self.skip(size)?,
            }
            self.line()?;
        }
        while !self.line()?.is_empty() {}
        Ok(bytes)
    }

    fn skip(&mut self, size: u64) -> io::Result<u64> {
        let copied = io::copy(&mut self.reader.by_ref().take(size), &mut io::sink())?;
        if copied == size {
            Ok(size)
        } else {
            Err(malformed())
        }
    }

    /// One line without its end; empty at the end of the stream as well.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.reader
            .by_ref()
            .take(LONGEST_LINE)
            .read_line(&mut line)?;
        line.truncate(line.trim_end_matches(['\r', '\n']).len());
        Ok(line)
    }

    /// A whole answer.
    pub fn json(&mut self, request: &Request, status: u16, body: &str) -> io::Result<()> {
        let reason = if status == 200 {
            "OK"
        } else {
            "Service Unavailable"
        };
        let mut answer = format!(
            "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len(),
        );
        if request.method != "HEAD" {
            answer.push_str(body);
        }
        self.writer.write_all(answer.as_bytes())
    }

    /// `count` server-sent events, one chunk each.
    pub fn events(&mut self, request: &Request, count: u32) -> io::Result<()> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        self.writer.write_all(head.as_bytes())?;
        if request.method == "HEAD" {
            return Ok(());
        }
        for n in 0..count {
            let event = format!("data: {n}\n\n");
            write!(self.writer, "{:x}\r\n{event}\r\n", event.len())?;
        }
        self.writer.write_all(b"0\r\n\r\n")
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "malformed request")
}
