//! Words that identify prompts, in lower case where case is ignored.

/// Names of secrets. Includes translations used by the most common localized
/// programs.
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

/// Labels of user names, before a colon or before "for" and a host.
pub(super) const USER_WORDS: &[&str] = &["username", "login", "user", "user name"];

/// Labels that are a prompt when they precede a colon alone.
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

/// First words of a line that asks for input.
pub(super) const QUESTION_STARTS: &[&str] = &[
    "choose", "confirm", "enter", "input", "paste", "pick", "please", "provide", "re-enter",
    "reenter", "repeat", "select", "specify", "type", "what", "which", "who", "where", "your",
];

/// Beginnings of yes/no questions.
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

/// Words that may follow "press".
pub(super) const ANY_KEY_WORDS: &[&str] =
    &["any key", "a key", "enter", "return", "space", "spacebar", "<enter>", "<return>"];

/// Unambiguous interpreter prompts.
pub(super) const INTERPRETER_PROMPTS: &[&str] =
    &[">>>", "(gdb)", "(lldb)", "(Pdb)", "(Pdb++)", "(dlv)", "(rr)", "ipdb>", "php >", "?-"];

/// Prompts for the continuation of a statement.
pub(super) const CONTINUATION_PROMPTS: &[&str] = &["...", ">", "->", "....>", "...>"];
