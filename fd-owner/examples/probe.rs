//! Prints what io_uring can do on this machine; exit code 1 if there is none.

use std::process::ExitCode;

use arenatls_fd_owner::Capabilities;

fn main() -> ExitCode {
    match Capabilities::probe() {
        Ok(capabilities) => {
            print!("{capabilities}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("no io_uring: {why}");
            ExitCode::FAILURE
        }
    }
}
