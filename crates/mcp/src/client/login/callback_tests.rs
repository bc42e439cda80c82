use super::*;

#[test]
fn any_part_of_an_address_will_do() {
    let whole = "http://127.0.0.1:1/callback?code=a&state=b";
    for given in [whole, "/callback?code=a&state=b", "?code=a&state=b", " code=a&state=b\n"] {
        assert_eq!(complete(given, "http://127.0.0.1:1/callback"), whole);
    }
}

#[tokio::test]
async fn only_the_answer_ends_the_wait() {
    let callback = Callback::open(None, false).await.unwrap();
    let port = callback.port();
    let waiting = tokio::spawn(callback.wait());
    for target in ["/favicon.ico", "/callback?code=x&state=y"] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.starts_with("HTTP/1.1 200"), target.contains("code"));
    }
    assert_eq!(waiting.await.unwrap(), "/callback?code=x&state=y");
}
