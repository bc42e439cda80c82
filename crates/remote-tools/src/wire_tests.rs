use hermes_core::Grant;

use super::*;

#[test]
fn messages_come_out_as_they_went_in() {
    let mut stream = Vec::new();
    for id in 0..3 {
        send(&mut stream, &encode(&ClientMessage::Cancel { id }).unwrap()).unwrap();
    }
    let mut stream = stream.as_slice();
    for wanted in 0..3 {
        let got: Option<ClientMessage> = receive(&mut stream).unwrap();
        assert!(matches!(got, Some(ClientMessage::Cancel { id }) if id == wanted));
    }
    assert!(receive::<ClientMessage>(&mut stream).unwrap().is_none());
}

#[test]
fn a_message_that_is_cut_off_is_the_end_and_nonsense_an_error() {
    let frame = encode(&ClientMessage::Cancel { id: 7 }).unwrap();
    let cut = &frame[..frame.len() - 1];
    assert!(receive::<ClientMessage>(&mut &*cut).unwrap().is_none());
    assert!(receive::<ClientMessage>(&mut b"\xff\xff\xff\xffbla".as_slice()).is_err());
    assert!(receive::<ClientMessage>(&mut b"\0\0\0\x02{}".as_slice()).is_err());
}

#[test]
fn grants_and_odd_paths_survive_the_trip() {
    let odd = PathBuf::from(OsString::from_vec(b"/a b/\xff\n".to_vec()));
    let effects = [
        Effect::path(Scope::FILE_WRITE, &odd),
        Effect::any(Scope::FILE_READ),
        Effect::name(Scope::named("mcp:x"), "y"),
    ];
    let grants = Grants::new(
        effects.iter().map(|effect| Grant { effect: effect.clone(), real_path: None }).collect(),
    );
    let shown = serde_json::to_string(&GrantedEffect::from_grants(&grants)).unwrap();
    let back: Option<Vec<GrantedEffect>> = serde_json::from_str(&shown).unwrap();
    let back: Vec<Effect> = back.unwrap().into_iter().map(Effect::from).collect();
    assert_eq!(back, effects);
    assert!(GrantedEffect::from_grants(&Grants::allow_all()).is_none());
}

#[test]
fn an_error_keeps_its_kind_and_words() {
    let error = ToolError::conflict("It has changed").with_hint("Read it.").with("path", "/a");
    let RemoteOutcome::Failed { kind, message, hint, details } = RemoteOutcome::from(&error) else {
        panic!("not an error");
    };
    assert_eq!(tool_error(&kind, message, hint, details).to_value(), error.to_value());
}
