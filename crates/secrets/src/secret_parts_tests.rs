use super::*;

const ACCOUNT: &str = r#"{
  "type": "service_account",
  "project_id": "acme-prod-384756",
  "private_key_id": "7c1f0e9b2a4d6c8e0f1a3b5d7c9e1f2a4b6d8c0e",
  "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nNMoSfm76oqFvAp8G\n-----END PRIVATE KEY-----\n",
  "client_email": "robot@acme-prod-384756.iam.gserviceaccount.com",
  "password": "hunter22horse",
  "token_uri": "https://oauth2.googleapis.com/token",
  "blob": "kX9vQ2mZ7pLr4TwYb8Nc"
}"#;

#[test]
fn of_a_document_the_values_that_tell_are_found() {
    let parts: Vec<&str> = identifying_parts(ACCOUNT).into_iter().collect();
    assert_eq!(
        parts,
        [
            "7c1f0e9b2a4d6c8e0f1a3b5d7c9e1f2a4b6d8c0e",
            "MIIEvQIBADANBgkqhkiG9w0BAQEF",
            "NMoSfm76oqFvAp8G",
            "hunter22horse",
            "kX9vQ2mZ7pLr4TwYb8Nc",
        ]
    );
}

#[test]
fn lines_of_plain_words_are_found() {
    let phrase = "witch collapse practice feed\nshame open despair creek\nroad again";
    let parts: Vec<&str> = identifying_parts(phrase).into_iter().collect();
    assert_eq!(parts, ["shame open despair creek", "witch collapse practice feed"]);
}

#[test]
fn a_value_of_one_line_has_no_lines() {
    for value in ["Server=db;Password=kX9vQ2mZ7pLr4TwYb8Nc", "witch collapse practice feed shame"] {
        assert!(identifying_parts(value).is_empty(), "{value}");
    }
}

#[test]
fn of_settings_the_values_are_found_without_their_names() {
    let settings =
        "HOST=db.example.com\nAPI_TOKEN=kX9vQ2mZ7pLr4TwYb8Nc\nexport DB_PASSWORD='a b c d e'\n";
    let parts: Vec<&str> = identifying_parts(settings).into_iter().collect();
    assert_eq!(parts, ["API_TOKEN=kX9vQ2mZ7pLr4TwYb8Nc", "a b c d e", "kX9vQ2mZ7pLr4TwYb8Nc"]);
}
