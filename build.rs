//! Checks the OpenSSL that this build found, and passes on what `build_info()` tells of it.

use std::env;
use std::process::ExitCode;

/// OpenSSL's own encoding of 3.0.0: `MNN00PP0`.
const OLDEST: u64 = 0x3000_0000;

/// What to do about an OpenSSL that will not do.
const REMEDY: &str = "\
either build with the default feature `vendored`, which makes OpenSSL 3 from source (needs perl, make and a C compiler),
or install OpenSSL 3.0 or newer with its headers (Debian, Ubuntu: `apt-get install libssl-dev pkg-config`; Fedora: \
`dnf install openssl-devel`), and set OPENSSL_DIR if it lies in an unusual place";

fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(openssl_no_psk)");
    if let Err(why) = check() {
        // Cargo shows what a failed build script wrote here.
        eprintln!("\narenatls: {why};\n{REMEDY}\n");
        return ExitCode::FAILURE;
    }
    if metadata("CONF").is_some_and(|conf| conf.split(',').any(|name| name == "OPENSSL_NO_PSK")) {
        println!("cargo:rustc-cfg=openssl_no_psk");
    }
    let vendored = metadata("VENDORED").is_some();
    println!("cargo:rustc-env=ARENATLS_OPENSSL_VENDORED={vendored}");
    println!("cargo:rustc-env=ARENATLS_TARGET={}", env::var("TARGET").unwrap_or_default());
    ExitCode::SUCCESS
}

/// What the build script of `openssl-sys` says of `key`.
fn metadata(key: &str) -> Option<String> {
    env::var(format!("DEP_OPENSSL_{key}")).ok()
}

fn check() -> Result<(), String> {
    for (key, name) in [("LIBRESSL_VERSION_NUMBER", "LibreSSL"), ("BORINGSSL", "BoringSSL"), ("AWSLC", "AWS-LC")] {
        if metadata(key).is_some() {
            return Err(format!("this build found {name}, and only OpenSSL has what is needed"));
        }
    }
    let Some(number) = metadata("VERSION_NUMBER") else {
        return Err("the build of openssl-sys did not say which OpenSSL it found".to_owned());
    };
    match u64::from_str_radix(&number, 16) {
        Ok(number) if number >= OLDEST => Ok(()),
        Ok(number) => Err(format!("this build found OpenSSL {}, which is too old", dotted(number))),
        Err(_) => Err(format!("the build of openssl-sys named an unreadable version, {number:?}")),
    }
}

fn dotted(number: u64) -> String {
    let byte = |shift: u32| number >> shift & 0xff;
    format!("{}.{}.{}", number >> 28, byte(20), byte(12))
}
