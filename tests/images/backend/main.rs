//! The model server of the tests: an HTTP/1.1 server in one static file.
//!
//! It uses nothing but `std`, so that its image needs no registry. Everything
//! is set by environment; durations are `250ms` or `2s`:
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `PORT` | where it listens | 8000 |
//! | `START_DELAY` | before it listens | 0 |
//! | `READY_DELAY` | after that, `/ready` answers 503 this long | 0 |
//! | `SERVICE_TIME` | before each answer but `/ready` | 0 |
//! | `EXIT_AFTER`, `EXIT_CODE` | ends by itself after, with | never, 1 |
//! | `IGNORE_TERM` | goes on this long after a SIGTERM, then exits with 0 | obeys at once |
//!
//! `/sse?n=5` streams that many events; any other path says what it was asked.

mod http;
mod term;

use std::env;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::process::exit;
use std::thread;
use std::time::{Duration, Instant};

use http::{Connection, Request};

fn main() -> io::Result<()> {
    if let Some(patience) = duration("IGNORE_TERM") {
        term::outlive(patience);
    }
    if let Some(life) = duration("EXIT_AFTER") {
        let code = number("EXIT_CODE").unwrap_or(1);
        thread::spawn(move || end_after(life, code));
    }
    thread::sleep(duration("START_DELAY").unwrap_or_default());
    let port = number("PORT").unwrap_or(8000);
    let listener = TcpListener::bind(("0.0.0.0", port))?;
    let backend = Backend {
        instance: env::var("HOSTNAME").unwrap_or_default(),
        ready_at: Instant::now() + duration("READY_DELAY").unwrap_or_default(),
        service_time: duration("SERVICE_TIME").unwrap_or_default(),
    };
    for stream in listener.incoming() {
        let (stream, backend) = (stream?, backend.clone());
        thread::spawn(move || backend.serve(stream));
    }
    Ok(())
}

fn end_after(life: Duration, code: i32) {
    thread::sleep(life);
    exit(code)
}

#[derive(Clone)]
struct Backend {
    instance: String,
    ready_at: Instant,
    service_time: Duration,
}

impl Backend {
    /// Answers one connection's requests until either side has enough.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut connection = Connection::new(stream)?;
        while let Some(request) = connection.request()? {
            self.answer(&mut connection, &request)?;
            if request.close {
                break;
            }
        }
        Ok(())
    }

    fn answer(&self, connection: &mut Connection, request: &Request) -> io::Result<()> {
        if request.path == "/ready" {
            let ready = Instant::now() >= self.ready_at;
            let (status, word) = if ready {
                (200, "ready")
            } else {
                (503, "loading")
            };
            return connection.json(request, status, &format!("{{\"state\":\"{word}\"}}"));
        }
        thread::sleep(self.service_time);
        match request.path.as_str() {
            "/sse" => connection.events(request, request.query_number("n").unwrap_or(5)),
            _ => connection.json(request, 200, &self.echo(request)),
        }
    }

    fn echo(&self, request: &Request) -> String {
        format!(
            "{{\"instance\":{},\"method\":{},\"path\":{},\"bytes\":{}}}",
            quoted(&self.instance),
            quoted(&request.method),
            quoted(&request.path),
            request.bytes,
        )
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .filter(|c| !c.is_control())
        .flat_map(|c| {
            matches!(c, '"' | '\\')
                .then_some('\\')
                .into_iter()
                .chain([c])
        })
        .collect();
    format!("\"{escaped}\"")
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| refuse(name)))
}

fn duration(name: &str) -> Option<Duration> {
    let text = env::var(name).ok()?;
    Some(parse_duration(&text).unwrap_or_else(|| refuse(name)))
}

fn parse_duration(text: &str) -> Option<Duration> {
    if let Some(millis) = text.strip_suffix("ms") {
        return millis.parse().ok().map(Duration::from_millis);
    }
    text.strip_suffix('s')?
        .parse()
        .ok()
        .map(Duration::from_secs)
}

fn refuse(name: &str) -> ! {
    eprintln!("{name} is not understood");
    exit(2)
}
