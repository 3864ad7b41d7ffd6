//! `service serve URL NAME` and `service call URL NAME COUNT TIMEOUT_MS`. See `bowline_tests::service_peers`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", url, name] => bowline_tests::service_peers::serve(url, name),
        ["call", url, name, count, timeout_ms] => {
            bowline_tests::service_peers::call(url, name, count.parse()?, timeout_ms.parse()?)
        }
        _ => Err("expected serve URL NAME, or call URL NAME COUNT TIMEOUT_MS".into()),
    }
}
