//! The words by which questions are known, in lower case where that does not
//! matter.

/// Secrets that are asked for. Those of the most common programs that speak
/// the user's language are here in that language too.
pub(super) const SECRET_WORDS: &[&str] = &[
    "password",
    "passphrase",
    "passcode",
    "passwd",
    "pin",
    "otp",
    "token",
    "secret",
    "api key",
    "verification code",
    "one-time code",
    "authentication code",
    "passwort",
    "kennwort",
    "mot de passe",
    "contraseña",
    "senha",
    "wachtwoord",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "암호",
];

/// Names that are asked for, before a colon or before "for" and a place.
pub(super) const USER_WORDS: &[&str] = &["username", "login", "user", "user name"];

/// What may stand alone before a colon and be a question.
pub(super) const FIELD_LABELS: &[&str] = &[
    "author",
    "choice",
    "confirm",
    "description",
    "e-mail",
    "email",
    "email address",
    "entry point",
    "first name",
    "full name",
    "git repository",
    "host",
    "hostname",
    "keywords",
    "last name",
    "license",
    "name",
    "option",
    "package name",
    "phone",
    "project name",
    "selection",
    "test command",
    "type",
    "version",
    "your answer",
    "your choice",
    "your email",
    "your name",
    "your selection",
];

/// What a line that asks begins with.
pub(super) const QUESTION_STARTS: &[&str] = &[
    "choose", "confirm", "enter", "input", "paste", "pick", "please", "provide", "re-enter",
    "reenter", "repeat", "select", "specify", "type", "what", "which", "who", "where", "your",
];

/// What a question begins with that is answered by yes or no.
pub(super) const CONFIRMATION_STARTS: &[&str] = &[
    "are you sure",
    "continue",
    "delete",
    "do you",
    "is this ok",
    "is this correct",
    "ok to",
    "overwrite",
    "proceed",
    "replace",
    "would you like",
    "really",
    "should i",
];

/// What may follow "press".
pub(super) const ANY_KEY_WORDS: &[&str] =
    &["any key", "a key", "enter", "return", "space", "spacebar", "<enter>", "<return>"];

/// Prompts that are nothing else.
pub(super) const INTERPRETER_PROMPTS: &[&str] =
    &[">>>", "(gdb)", "(lldb)", "(Pdb)", "(Pdb++)", "(dlv)", "(rr)", "ipdb>", "php >", "?-"];

/// Prompts for the rest of a statement.
pub(super) const CONTINUATION_PROMPTS: &[&str] = &["...", ">", "->", "....>", "...>"];
