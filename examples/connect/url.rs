//! As much of a URL as it takes to fetch it.

use crate::common::failure::Failure;

/// `https://HOST[:PORT][/PATH]`, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Url {
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Host and port as they stand in the URL: the value of the Host field.
    pub(crate) authority: String,
    /// Path and query, never empty.
    pub(crate) path: String,
}

impl Url {
    pub(crate) fn parse(text: &str) -> Result<Url, Failure> {
        let bad = |why: &str| Failure::Usage(format!("{text:?} is no address to fetch: {why}"));
        let rest = text.strip_prefix("https://").ok_or_else(|| bad("it does not begin with https://"))?;
        // What would end the request line, or start another, must not get there.
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("write spaces and what is not ASCII in percent-encoding"));
        }
        let (rest, _fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(bad("a user name is not supported"));
        }
        let (host, port) = split_port(authority).ok_or_else(|| bad("a host, perhaps with :PORT, is missing"))?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Url { host: host.to_owned(), port, authority: authority.to_owned(), path })
    }
}

fn split_port(authority: &str) -> Option<(&str, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(digits) => digits.parse().ok()?,
        None if port.is_empty() => 443,
        None => return None,
    };
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, u16, String, String) {
        let url = Url::parse(text).expect(text);
        (url.host, url.port, url.authority, url.path)
    }

    #[test]
    fn addresses_are_taken_apart() {
        let expected =
            |host: &str, port, authority: &str, path: &str| (host.into(), port, authority.into(), path.into());
        assert_eq!(parts("https://a.example"), expected("a.example", 443, "a.example", "/"));
        assert_eq!(parts("https://a.example:8443/x?y#z"), expected("a.example", 8443, "a.example:8443", "/x?y"));
        assert_eq!(parts("https://[::1]:4433?q"), expected("::1", 4433, "[::1]:4433", "/?q"));
        assert_eq!(parts("https://127.0.0.1/a:b"), expected("127.0.0.1", 443, "127.0.0.1", "/a:b"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let bad = [
            "",
            "http://a/",
            "https://",
            "https:///x",
            "https://a:x/",
            "https://a:99999/",
            "https://u@a/",
            "https://[::1/",
        ];
        for text in bad.into_iter().chain(["https://a/\r\nX: y", "https://a/ b", "https://ä/"]) {
            assert!(matches!(Url::parse(text), Err(Failure::Usage(_))), "{text:?}");
        }
    }
}
