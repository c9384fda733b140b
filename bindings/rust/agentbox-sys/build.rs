// SPDX-License-Identifier: Apache-2.0
//! Finds the library: in $AGENTBOX_LIB_DIR, else where pkg-config says.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=AGENTBOX_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rustc-link-lib=dylib=agentbox");
    if let Ok(folder) = std::env::var("AGENTBOX_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        return;
    }
    let found = Command::new("pkg-config").args(["--variable=libdir", "agentbox"]).output();
    match found {
        Ok(found) if found.status.success() => {
            println!("cargo:rustc-link-search=native={}", String::from_utf8_lossy(&found.stdout).trim());
        }
        _ => println!("cargo:warning=pkg-config does not know agentbox: install it (meson install -C build), or set AGENTBOX_LIB_DIR"),
    }
}
