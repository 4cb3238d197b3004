//! Records protected by the kernel. Needs TCP's `tls` layer; without, what can be seen is that all goes on as before.

mod ends;
mod files;
mod hostile;
mod keys;
mod support;
mod traffic;
