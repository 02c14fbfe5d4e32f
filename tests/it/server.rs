//! A local HTTP server on a separate port: it reads requests, and a test says what it answers.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    /// By names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// How a connection continues after an answer.
#[derive(PartialEq)]
pub(crate) enum Connection {
    Stays,
    Closes,
}

/// Serves as long as the tests run; its address.
pub(crate) fn serve(
    answer: impl Fn(HttpRequest, &mut TcpStream) -> io::Result<Connection> + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            // A client that goes away is no failure of the server.
            std::thread::spawn(move || -> io::Result<()> {
                let mut reader = BufReader::new(stream.try_clone()?);
                while let Some(request) = read(&mut reader)? {
                    if answer(request, &mut stream)? == Connection::Closes {
                        break;
                    }
                }
                Ok(())
            });
        }
    });
    url
}

/// The next request of a connection; none at its end.
fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<HttpRequest>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length").map_or(0, |n| n.parse().unwrap())];
    reader.read_exact(&mut body)?;
    Ok(Some(HttpRequest { method, target, headers, body }))
}
