// SPDX-License-Identifier: Apache-2.0
// GETs each URL with a crate that knows no proxy variables, or POSTs to those after the word POST; prints "STATUS BODY" or the error.
fn main() {
    let mut method = minreq::Method::Get;
    for url in std::env::args().skip(1) {
        if !url.contains(':') {
            method = minreq::Method::Custom(url);
            continue;
        }
        match minreq::Request::new(method.clone(), &url).with_timeout(20).send() {
            Ok(answer) => println!("{} {}", answer.status_code, answer.as_str().unwrap_or("")),
            Err(error) => {
                println!("error: {}", error);
                std::process::exit(1);
            }
        }
    }
}
