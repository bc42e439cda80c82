use super::*;

#[test]
fn any_part_of_an_address_will_do() {
    let whole = "http://127.0.0.1:1/callback?code=a&state=b";
    for given in [whole, "/callback?code=a&state=b", "?code=a&state=b", " code=a&state=b\n"] {
        assert_eq!(complete_redirect_url(given, "http://127.0.0.1:1/callback"), whole);
    }
}

#[tokio::test]
async fn only_the_answer_ends_the_wait() {
    let callback = CallbackListener::open(None, false).await.unwrap();
    let port = callback.port();
    let waiting = tokio::spawn(callback.wait_for_redirect(Some("y".to_owned())));
    let forged = "/callback?code=evil&state=other";
    for target in
        ["/favicon.ico", forged, "/callback?error=access_denied", "/callback?code=x&state=y"]
    {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.starts_with("HTTP/1.1 200"), target.contains("state=y"));
    }
    assert_eq!(waiting.await.unwrap(), "/callback?code=x&state=y");
}

#[test]
fn a_refusal_is_read() {
    let shown = authorization_error(
        "http://h/callback?error=access_denied&error_description=not+you&state=y",
    );
    assert_eq!(shown.as_deref(), Some("access_denied: not you"));
    assert_eq!(authorization_error("http://h/callback?code=a&state=y"), None);
    assert!(is_matching_redirect("/callback?error=access_denied&state=y", Some("y")));
    assert!(!is_matching_redirect("/callback?error=access_denied", Some("y")));
    assert!(!is_matching_redirect("/callback?error=access_denied&state=z", Some("y")));
}
