// SPDX-License-Identifier: Apache-2.0
// GETs each URL with a crate that knows no proxy variables; prints "STATUS BODY" or the error.
fn main() {
    for url in std::env::args().skip(1) {
        match minreq::get(&url).with_timeout(20).send() {
            Ok(answer) => println!("{} {}", answer.status_code, answer.as_str().unwrap_or("")),
            Err(error) => {
                println!("error: {}", error);
                std::process::exit(1);
            }
        }
    }
}
