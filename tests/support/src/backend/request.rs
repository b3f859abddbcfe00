use std::net::SocketAddr;

use crate::http1::{Headers, RequestHead};

/// What a script decides on: a request whose body is still to come.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its number at this backend, from 0 in order of arrival.
    pub number: usize,
    /// The number of its connection, from 0.
    pub connection: usize,
    /// Who sent it.
    pub peer: SocketAddr,
    /// Its head.
    pub head: RequestHead,
}

impl Request {
    /// The method.
    pub fn method(&self) -> &str {
        &self.head.method
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        let target = &self.head.target;
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)
    }

    /// The headers as they were sent.
    pub fn headers(&self) -> &Headers {
        &self.head.headers
    }

    /// Whether it came from a page of this very host: `Origin`, where there is
    /// one, has the host and port of `Host`.
    pub fn is_same_origin(&self) -> bool {
        let Some(origin) = self.header("origin") else {
            return true;
        };
        let authority = origin.split_once("://").map_or(origin, |(_, rest)| rest);
        self.header("host") == Some(authority)
    }
}
