//! Progress as a value.

/// What an operation needs before it can go further. Valid only until the next call on the connection: ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// More ciphertext from the peer: receive, then poll.
    Input,
    /// Output must leave first: send what the backend holds, then poll or write again.
    Drain,
    /// The ClientHello callback answered "later" (`SSL_ERROR_WANT_CLIENT_HELLO_CB`).
    ClientHello,
    /// The certificate callback answered "later" (`SSL_ERROR_WANT_X509_LOOKUP`).
    Certificate,
    /// The verification callback answered "later" (`SSL_ERROR_WANT_RETRY_VERIFY`).
    Verify,
    /// A private-key operation is under way elsewhere (`SSL_ERROR_WANT_ASYNC`).
    PrivateKey,
}

/// An operation's answer where nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Progress<T> {
    /// Done, with its result.
    Done(T),
    /// Not a byte of it was taken; it needs this first.
    Want(Want),
}

impl<T> Progress<T> {
    /// What it needs, if it is not done.
    pub fn want(&self) -> Option<Want> {
        match self {
            Progress::Done(_) => None,
            Progress::Want(want) => Some(*want),
        }
    }

    /// The result, if it is done.
    pub fn done(self) -> Option<T> {
        match self {
            Progress::Done(result) => Some(result),
            Progress::Want(_) => None,
        }
    }
}
