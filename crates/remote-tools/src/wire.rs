//! The messages between the two ends: JSON, each prefixed with its length.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use hermes_core::{
    Effect, ErrorKind, Grants, OutputLimits, Resource, Scope, ShellScript, ToolError,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The protocol version.
pub(crate) const PROTOCOL_VERSION: u32 = 2;

/// The line before the first message. A login banner may precede it.
pub(crate) const GREETING_LINE: &[u8] = b"hermes-hands\n";

/// The line that reports that the program is not installed.
pub(crate) const MISSING_LINE: &[u8] = b"hermes-missing\n";

/// Maximum size of a message in bytes.
const MAX_MESSAGE_BYTES: u32 = 1 << 30;

/// A message from the local to the remote end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ClientMessage {
    Call(Box<RemoteCall>),
    /// Checks whether the server responds.
    Ping,
    Cancel {
        id: u64,
    },
    /// The response to a [`ServerMessage::Question`].
    Closed {
        question: u64,
        closed: Vec<bool>,
    },
}

/// A message from the remote to the local end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ServerMessage {
    Hello {
        protocol: u32,
        version: String,
    },
    Answer {
        id: u64,
        outcome: RemoteOutcome,
    },
    /// The response to a [`ClientMessage::Ping`].
    Pong,
    Progress {
        id: u64,
        fraction: Option<f64>,
        message: String,
    },
    /// Asks which of these paths the local rules close to the call.
    Question {
        id: u64,
        question: u64,
        scope: String,
        paths: Vec<PathText>,
    },
}

/// A call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RemoteCall {
    pub(crate) id: u64,
    pub(crate) call_id: String,
    pub(crate) tool: String,
    // Parsed later, where a failure can be reported.
    pub(crate) arguments: Box<RawValue>,
    /// `None` if unrestricted.
    pub(crate) grants: Option<Vec<GrantedEffect>>,
    /// Whether paths below granted directories may be closed.
    pub(crate) excepted: bool,
    pub(crate) cwd: PathText,
    pub(crate) home: Option<PathText>,
    pub(crate) session: String,
    pub(crate) task: String,
    #[serde(default)]
    pub(crate) inner: bool,
    /// The session's knowledge of the conversation.
    pub(crate) context: Value,
    pub(crate) milliseconds: Option<u64>,
    pub(crate) bounds: Option<[u64; 5]>,
}

/// An effect that the call may have.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GrantedEffect {
    pub(crate) scope: String,
    pub(crate) on: GrantedResource,
}

/// The wire form of a [`Resource`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum GrantedResource {
    Any,
    Path(PathText),
    Command(String),
    Script { text: String, folder: Option<PathText>, input: Option<String>, apart: bool },
    Host(String),
    Name(String),
}

/// The outcome of a call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RemoteOutcome {
    Done {
        content: String,
        attachments: Vec<AttachedFile>,
        #[serde(default)]
        stopped: bool,
    },
    Failed {
        kind: String,
        message: String,
        hint: String,
        details: Map<String, Value>,
    },
}

/// An attachment of a result.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AttachedFile {
    pub(crate) media_type: String,
    pub(crate) base64: String,
}

/// A path, which may not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }
}

impl From<PathText> for PathBuf {
    fn from(text: PathText) -> Self {
        match text {
            PathText::Text(text) => text.into(),
            PathText::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

impl GrantedEffect {
    /// Returns the granted effects, without their local canonical paths.
    pub(crate) fn from_grants(grants: &Grants) -> Option<Vec<Self>> {
        let one = |effect: &Effect| Self {
            scope: effect.scope.as_str().to_owned(),
            on: match &effect.resource {
                Resource::Any => GrantedResource::Any,
                Resource::Path(path) => GrantedResource::Path(path.as_path().into()),
                Resource::Command(text) => GrantedResource::Command(text.clone()),
                Resource::Script(script) => GrantedResource::Script {
                    text: script.text.clone(),
                    folder: script.cwd.as_deref().map(PathText::from),
                    input: script.stdin.clone(),
                    apart: script.fresh_shell,
                },
                Resource::Host(text) => GrantedResource::Host(text.clone()),
                Resource::Variable(variable) => GrantedResource::Name(variable.name.clone()),
                Resource::Name(text) => GrantedResource::Name(text.clone()),
            },
        };
        Some(grants.list()?.iter().map(|grant| one(&grant.effect)).collect())
    }
}

impl From<GrantedEffect> for Effect {
    fn from(granted: GrantedEffect) -> Self {
        let resource = match granted.on {
            GrantedResource::Any => Resource::Any,
            GrantedResource::Path(path) => Resource::Path(path.into()),
            GrantedResource::Command(text) => Resource::Command(text),
            GrantedResource::Script { text, folder, input, apart } => {
                let folder = folder.map(PathBuf::from);
                Resource::Script(Box::new(ShellScript {
                    text,
                    cwd: folder,
                    stdin: input,
                    fresh_shell: apart,
                    ..ShellScript::default()
                }))
            }
            GrantedResource::Host(text) => Resource::Host(text),
            GrantedResource::Name(text) => Resource::Name(text),
        };
        Self { scope: Scope::named(granted.scope), resource }
    }
}

impl From<&ToolError> for RemoteOutcome {
    fn from(error: &ToolError) -> Self {
        Self::Failed {
            kind: error.kind().name().to_owned(),
            message: error.message().to_owned(),
            hint: error.hint().to_owned(),
            details: error.details().clone(),
        }
    }
}

/// Rebuilds an error from its wire form.
pub(crate) fn tool_error(
    kind: &str,
    message: String,
    hint: String,
    details: Map<String, Value>,
) -> ToolError {
    let kind = ErrorKind::from_name(kind).unwrap_or(ErrorKind::Internal);
    let error = ToolError::new(kind, message).with_hint(hint);
    details.into_iter().fold(error, |error, (key, value)| error.with(&key, value))
}

/// Converts limits to plain numbers.
pub(crate) fn bounds_to_numbers(bounds: &OutputLimits) -> [u64; 5] {
    let OutputLimits { command_bytes, read_lines, line_chars, read_chars, answer_chars } = *bounds;
    [command_bytes, read_lines, line_chars, read_chars, answer_chars]
}

/// Converts plain numbers to limits.
pub(crate) fn bounds_from_numbers(
    [command_bytes, read_lines, line_chars, read_chars, answer_chars]: [u64; 5],
) -> OutputLimits {
    OutputLimits { command_bytes, read_lines, line_chars, read_chars, answer_chars }
}

/// Encodes a message for sending.
pub(crate) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - 4).ok().filter(|length| *length <= MAX_MESSAGE_BYTES);
    let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
    if let Some(head) = frame.first_chunk_mut::<4>() {
        *head = length.to_be_bytes();
    }
    Ok(frame)
}

/// Sends an encoded message.
pub(crate) fn send(output: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    output.write_all(frame)?;
    output.flush()
}

/// Waits for the next message; `None` if the other end has closed.
pub(crate) fn receive<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<T>> {
    let mut head = [0; 4];
    match input.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        done => done?,
    }
    let length = u32::from_be_bytes(head);
    if length > MAX_MESSAGE_BYTES {
        return Err(io::Error::other("invalid message length"));
    }
    let mut frame = Vec::new();
    input.take(length.into()).read_to_end(&mut frame)?;
    if frame.len() as u64 != u64::from(length) {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&frame)?))
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
