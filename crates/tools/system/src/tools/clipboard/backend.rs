//! The ways to a clipboard: which one there is, and how it is spoken to.

use hermes_core::{ToolContext, ToolError};
use serde::Serialize;

use super::png;
use super::{Format, Selection};
use crate::desktop::{Desktop, Ended, Program};

/// The most that is taken from a clipboard.
pub(super) const MOST: usize = 64 * 1024 * 1024;

/// The most that xsel hands out in one piece. It often dies over the pieces of
/// a larger text, which is lost then, without a word.
const MOST_OF_XSEL: usize = 4_000;

/// The program that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Backend {
    WlClipboard,
    Xclip,
    Xsel,
    Pasteboard,
    Tmux,
}

/// A way to a clipboard, and why it is not a better one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) backend: Backend,
    pub(super) drawback: Option<String>,
}

/// Why there is no clipboard, and what would make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) reason: String,
    pub(super) fix: String,
}

impl Way {
    /// The best way that this desktop has.
    pub(super) fn of(desktop: &Desktop) -> Result<Self, Missing> {
        let straight = |backend| Ok(Self { backend, drawback: None });
        let has = |program| desktop.find(program).is_some();
        let (mut reasons, mut fixes) = (Vec::new(), Vec::new());
        if cfg!(target_os = "macos") && has("pbcopy") && has("pbpaste") {
            return straight(Backend::Pasteboard);
        }
        if let Some(socket) = desktop.wayland_socket() {
            if !socket.exists() {
                reasons.push(format!("there is no Wayland display at {}", socket.display()));
                fixes.push("set WAYLAND_DISPLAY and XDG_RUNTIME_DIR as the desktop has them");
            } else if has("wl-copy") && has("wl-paste") {
                return straight(Backend::WlClipboard);
            } else {
                reasons.push("wl-copy and wl-paste are not installed".to_owned());
                fixes.push("install wl-clipboard");
            }
        }
        if desktop.variable("DISPLAY").is_some() {
            if has("xclip") {
                return straight(Backend::Xclip);
            }
            if has("xsel") {
                return straight(Backend::Xsel);
            }
            reasons.push("neither xclip nor xsel is installed".to_owned());
            fixes.push("install xclip");
        }
        if reasons.is_empty() {
            reasons.push("there is no display: WAYLAND_DISPLAY and DISPLAY are not set".to_owned());
            fixes.push("start hermes in a desktop session, with ssh -X, or in tmux");
        }
        let reason = reasons.join("; ");
        if desktop.variable("TMUX").is_some() && has("tmux") {
            return Ok(Self { backend: Backend::Tmux, drawback: Some(reason) });
        }
        Err(Missing { reason: sentence(&reason), fix: format!("{}.", sentence(&fixes.join("; "))) })
    }
}

/// The text with a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// One selection, reached in one way.
#[derive(Debug)]
pub(super) struct Board<'a> {
    pub(super) desktop: &'a Desktop,
    pub(super) backend: Backend,
    pub(super) selection: Selection,
    pub(super) cx: &'a ToolContext,
}

impl<'a> Board<'a> {
    /// An error if the way does not lead to that.
    pub(super) fn can(&self, format: Format) -> Result<(), ToolError> {
        let name = match self.backend {
            Backend::Pasteboard => "macOS",
            Backend::Tmux => "tmux",
            Backend::Xsel => "xsel",
            Backend::WlClipboard | Backend::Xclip => return Ok(()),
        };
        if self.selection == Selection::Primary && self.backend != Backend::Xsel {
            return Err(ToolError::invalid(format!("{name} has no primary selection"))
                .with_hint("Leave 'selection' out."));
        }
        if format == Format::Image && self.backend != Backend::Pasteboard {
            return Err(ToolError::unavailable(format!("{name} carries text only, no images"))
                .with_hint("Images need wl-clipboard or xclip, and a display."));
        }
        Ok(())
    }

    /// What the owner offers, nothing if there is no owner. None where that
    /// cannot be asked.
    pub(super) async fn types(&self) -> Result<Option<Vec<String>>, ToolError> {
        let asked = match self.backend {
            Backend::WlClipboard => self.wl("wl-paste")?.args(["--list-types"]),
            Backend::Xclip => self.xclip()?.args(["-o", "-t", "TARGETS"]),
            Backend::Xsel | Backend::Pasteboard | Backend::Tmux => return Ok(None),
        };
        let ended = asked.output(MOST).run(self.cx).await?;
        if !ended.success && says(&ended, &["not available", "Nothing is copied", "No selection"]) {
            return Ok(Some(Vec::new()));
        }
        let list = self.lives(ended)?.output;
        Ok(Some(String::from_utf8_lossy(&list).lines().map(str::to_owned).collect()))
    }

    /// What is there, of that type where types are known.
    pub(super) async fn read(&self, format: Format, of: &str) -> Result<Vec<u8>, ToolError> {
        let program = match self.backend {
            Backend::WlClipboard => {
                self.wl("wl-paste")?.args(["--no-newline", "--type"]).args([of])
            }
            Backend::Xclip => self.xclip()?.args(["-o", "-t"]).args([of]),
            Backend::Xsel => self.xsel()?.args(["--output"]),
            Backend::Pasteboard if format == Format::Image => {
                let script = "the clipboard as «class PNGf»";
                let ended = self.osascript(script)?.output(MOST).run(self.cx).await?;
                return png::from_apple(&ended.output).ok_or_else(|| {
                    ToolError::not_found("The clipboard holds no image")
                        .with_hint("Ask the user to copy one, or read it as text.")
                });
            }
            Backend::Pasteboard => self.utf8("pbpaste")?,
            Backend::Tmux => Program::new(self.desktop, "tmux")?.args(["save-buffer", "-"]),
        };
        let ended = program.output(MOST).run(self.cx).await?;
        if !ended.success && says(&ended, &["no buffers"]) {
            return Ok(Vec::new());
        }
        Ok(self.lives(ended)?.output)
    }

    /// Puts it there.
    pub(super) async fn write(&self, format: Format, bytes: Vec<u8>) -> Result<(), ToolError> {
        let program = match (self.backend, format) {
            (Backend::WlClipboard, Format::Text) => {
                self.wl("wl-copy")?.args(["--type", "text/plain;charset=utf-8"])
            }
            (Backend::WlClipboard, Format::Image) => {
                self.wl("wl-copy")?.args(["--type", png::TYPE])
            }
            (Backend::Xclip, Format::Text) => self.xclip()?.args(["-i"]),
            (Backend::Xclip, Format::Image) => self.xclip()?.args(["-i", "-t", png::TYPE]),
            (Backend::Xsel, _) if bytes.len() > MOST_OF_XSEL => {
                let message = format!("xsel carries no more than {MOST_OF_XSEL} bytes reliably");
                return Err(ToolError::limit(message).with_hint("Install xclip, or copy less."));
            }
            (Backend::Xsel, _) => self.xsel()?.args(["--input"]),
            (Backend::Pasteboard, Format::Text) => self.utf8("pbcopy")?,
            (Backend::Pasteboard, Format::Image) => {
                self.osascript(&format!("set the clipboard to {}", png::to_apple(&bytes)))?
            }
            (Backend::Tmux, _) => return self.load(bytes).await,
        };
        // The script of `osascript` is its input already.
        let is_script = (self.backend, format) == (Backend::Pasteboard, Format::Image);
        let program = if is_script { program } else { program.input(bytes) };
        self.lives(program.run(self.cx).await?).map(drop)
    }

    /// Takes away what is there.
    pub(super) async fn clear(&self) -> Result<(), ToolError> {
        let program = match self.backend {
            Backend::WlClipboard => self.wl("wl-copy")?.args(["--clear"]),
            Backend::Xclip => self.xclip()?.args(["-i"]).input(Vec::new()),
            Backend::Xsel => self.xsel()?.args(["--clear"]),
            Backend::Pasteboard => self.utf8("pbcopy")?,
            Backend::Tmux => Program::new(self.desktop, "tmux")?.args(["delete-buffer"]),
        };
        let ended = program.run(self.cx).await?;
        if !ended.success && says(&ended, &["no buffer"]) {
            return Ok(());
        }
        self.lives(ended).map(drop)
    }

    /// tmux passes it on to the clipboard of its terminal, if it is new enough
    /// to know how.
    async fn load(&self, bytes: Vec<u8>) -> Result<(), ToolError> {
        let tmux = |flags: &[&'static str]| {
            let program = Program::new(self.desktop, "tmux")?.args(["load-buffer"]);
            Ok::<_, ToolError>(program.args(flags.iter().copied()).args(["-"]))
        };
        let ended = tmux(&["-w"])?.input(bytes.clone()).run(self.cx).await?;
        if !ended.success && says(&ended, &["unknown flag", "usage:", "unknown option"]) {
            return self.lives(tmux(&[])?.input(bytes).run(self.cx).await?).map(drop);
        }
        self.lives(ended).map(drop)
    }

    /// An error with the next step if the program failed.
    fn lives(&self, ended: Ended) -> Result<Ended, ToolError> {
        ended.succeeded().map_err(|error| {
            error.with_hint(match self.backend {
                Backend::WlClipboard => "Check WAYLAND_DISPLAY and XDG_RUNTIME_DIR.",
                Backend::Xclip | Backend::Xsel => "Check DISPLAY and XAUTHORITY.",
                Backend::Pasteboard => "Run hermes in the session of the user who is logged in.",
                Backend::Tmux => "Check that the tmux server of TMUX still runs.",
            })
        })
    }

    fn wl(&self, name: &'static str) -> Result<Program<'a>, ToolError> {
        let program = Program::new(self.desktop, name)?;
        let primary = (self.selection == Selection::Primary).then_some("--primary");
        Ok(program.args(primary))
    }

    fn xclip(&self) -> Result<Program<'a>, ToolError> {
        let selection = match self.selection {
            Selection::Clipboard => "clipboard",
            Selection::Primary => "primary",
        };
        Ok(Program::new(self.desktop, "xclip")?.args(["-selection", selection]))
    }

    fn xsel(&self) -> Result<Program<'a>, ToolError> {
        let selection = match self.selection {
            Selection::Clipboard => "--clipboard",
            Selection::Primary => "--primary",
        };
        Ok(Program::new(self.desktop, "xsel")?.args([selection]))
    }

    /// `pbcopy` and `pbpaste` go by the locale, which may be none.
    fn utf8(&self, name: &'static str) -> Result<Program<'a>, ToolError> {
        Ok(Program::new(self.desktop, name)?.env("LC_ALL", "en_US.UTF-8"))
    }

    fn osascript(&self, script: &str) -> Result<Program<'a>, ToolError> {
        let program = Program::new(self.desktop, "osascript")?;
        Ok(program.args(["-"]).input(script.as_bytes().to_vec()))
    }
}

fn says(ended: &Ended, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| ended.complaint.contains(phrase))
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
