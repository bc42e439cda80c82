//! Clipboard backends: detection and access.

use hermes_core::{ToolContext, ToolError};
use serde::Serialize;

use super::png;
use super::{ClipboardFormat, ClipboardSelection};
use crate::desktop::{DesktopEnv, DesktopProgram, ProgramResult};

/// Maximum bytes read from a clipboard.
pub(super) const MAX_CLIPBOARD_BYTES: usize = 64 * 1024 * 1024;

/// Maximum bytes xsel transfers in one piece. With larger texts it often dies
/// silently during the incremental transfer, and the text is lost.
const MAX_XSEL_BYTES: usize = 4_000;

/// The program used to access the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClipboardBackend {
    WlClipboard,
    Xclip,
    Xsel,
    Pasteboard,
    Tmux,
}

/// A backend, and why a better one is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BackendChoice {
    pub(super) backend: ClipboardBackend,
    pub(super) drawback: Option<String>,
}

/// Why no clipboard is available, and how to get one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClipboardUnavailable {
    pub(super) reason: String,
    pub(super) fix: String,
}

impl BackendChoice {
    /// Chooses the best backend of this desktop.
    pub(super) fn detect(desktop: &DesktopEnv) -> Result<Self, ClipboardUnavailable> {
        let straight = |backend| Ok(Self { backend, drawback: None });
        let has = |program| desktop.find_program(program).is_some();
        let (mut reasons, mut fixes) = (Vec::new(), Vec::new());
        if cfg!(target_os = "macos") && has("pbcopy") && has("pbpaste") {
            return straight(ClipboardBackend::Pasteboard);
        }
        if let Some(socket) = desktop.wayland_socket() {
            if !socket.exists() {
                reasons.push(format!("no Wayland display at {}", socket.display()));
                fixes.push(
                    "set WAYLAND_DISPLAY and XDG_RUNTIME_DIR to the values of the \
                    desktop session",
                );
            } else if has("wl-copy") && has("wl-paste") {
                return straight(ClipboardBackend::WlClipboard);
            } else {
                reasons.push("wl-copy and wl-paste are not installed".to_owned());
                fixes.push("install wl-clipboard");
            }
        }
        if desktop.variable("DISPLAY").is_some() {
            if has("xclip") {
                return straight(ClipboardBackend::Xclip);
            }
            if has("xsel") {
                return straight(ClipboardBackend::Xsel);
            }
            reasons.push("neither xclip nor xsel is installed".to_owned());
            fixes.push("install xclip");
        }
        if reasons.is_empty() {
            reasons.push("no display: WAYLAND_DISPLAY and DISPLAY are not set".to_owned());
            fixes.push("start hermes in a desktop session, with ssh -X, or in tmux");
        }
        let reason = reasons.join("; ");
        if desktop.variable("TMUX").is_some() && has("tmux") {
            return Ok(Self { backend: ClipboardBackend::Tmux, drawback: Some(reason) });
        }
        Err(ClipboardUnavailable {
            reason: capitalize(&reason),
            fix: format!("{}.", capitalize(&fixes.join("; "))),
        })
    }
}

/// Capitalizes the first letter.
fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// One selection of one backend.
#[derive(Debug)]
pub(super) struct ClipboardHandle<'a> {
    pub(super) desktop: &'a DesktopEnv,
    pub(super) backend: ClipboardBackend,
    pub(super) selection: ClipboardSelection,
    pub(super) cx: &'a ToolContext,
}

impl<'a> ClipboardHandle<'a> {
    /// Fails if the backend does not support the format or selection.
    pub(super) fn check_format(&self, format: ClipboardFormat) -> Result<(), ToolError> {
        let name = match self.backend {
            ClipboardBackend::Pasteboard => "macOS",
            ClipboardBackend::Tmux => "tmux",
            ClipboardBackend::Xsel => "xsel",
            ClipboardBackend::WlClipboard | ClipboardBackend::Xclip => return Ok(()),
        };
        if self.selection == ClipboardSelection::Primary && self.backend != ClipboardBackend::Xsel {
            return Err(ToolError::invalid(format!("{name} has no primary selection"))
                .with_hint("Leave 'selection' out."));
        }
        if format == ClipboardFormat::Image && self.backend != ClipboardBackend::Pasteboard {
            return Err(ToolError::unavailable(format!("{name} supports text only, no images"))
                .with_hint("Images need wl-clipboard or xclip, and a display."));
        }
        Ok(())
    }

    /// Types that the owner offers; empty if there is no owner. `None` if the
    /// backend cannot list types.
    pub(super) async fn types(&self) -> Result<Option<Vec<String>>, ToolError> {
        let asked = match self.backend {
            ClipboardBackend::WlClipboard => self.wl_program("wl-paste")?.args(["--list-types"]),
            ClipboardBackend::Xclip => self.xclip_program()?.args(["-o", "-t", "TARGETS"]),
            ClipboardBackend::Xsel | ClipboardBackend::Pasteboard | ClipboardBackend::Tmux => {
                return Ok(None);
            }
        };
        let ended = asked.output(MAX_CLIPBOARD_BYTES).run(self.cx).await?;
        if !ended.success
            && stderr_contains(&ended, &["not available", "Nothing is copied", "No selection"])
        {
            return Ok(Some(Vec::new()));
        }
        let list = self.check_success(ended)?.output;
        Ok(Some(String::from_utf8_lossy(&list).lines().map(str::to_owned).collect()))
    }

    /// Reads the content, as type `of` if the backend knows types.
    pub(super) async fn read(
        &self,
        format: ClipboardFormat,
        of: &str,
    ) -> Result<Vec<u8>, ToolError> {
        let program = match self.backend {
            ClipboardBackend::WlClipboard => {
                self.wl_program("wl-paste")?.args(["--no-newline", "--type"]).args([of])
            }
            ClipboardBackend::Xclip => self.xclip_program()?.args(["-o", "-t"]).args([of]),
            ClipboardBackend::Xsel => self.xsel_program()?.args(["--output"]),
            ClipboardBackend::Pasteboard if format == ClipboardFormat::Image => {
                let script = "the clipboard as «class PNGf»";
                let ended = self
                    .osascript_program(script)?
                    .output(MAX_CLIPBOARD_BYTES)
                    .run(self.cx)
                    .await?;
                return png::from_applescript(&ended.output).ok_or_else(|| {
                    ToolError::not_found("The clipboard has no image")
                        .with_hint("Ask the user to copy one, or read it as text.")
                });
            }
            ClipboardBackend::Pasteboard => self.pasteboard_program("pbpaste")?,
            ClipboardBackend::Tmux => {
                DesktopProgram::new(self.desktop, "tmux")?.args(["save-buffer", "-"])
            }
        };
        let ended = program.output(MAX_CLIPBOARD_BYTES).run(self.cx).await?;
        if !ended.success && stderr_contains(&ended, &["no buffers"]) {
            return Ok(Vec::new());
        }
        Ok(self.check_success(ended)?.output)
    }

    /// Replaces the content.
    pub(super) async fn write(
        &self,
        format: ClipboardFormat,
        bytes: Vec<u8>,
    ) -> Result<(), ToolError> {
        let program = match (self.backend, format) {
            (ClipboardBackend::WlClipboard, ClipboardFormat::Text) => {
                self.wl_program("wl-copy")?.args(["--type", "text/plain;charset=utf-8"])
            }
            (ClipboardBackend::WlClipboard, ClipboardFormat::Image) => {
                self.wl_program("wl-copy")?.args(["--type", png::MEDIA_TYPE])
            }
            (ClipboardBackend::Xclip, ClipboardFormat::Text) => self.xclip_program()?.args(["-i"]),
            (ClipboardBackend::Xclip, ClipboardFormat::Image) => {
                self.xclip_program()?.args(["-i", "-t", png::MEDIA_TYPE])
            }
            (ClipboardBackend::Xsel, _) if bytes.len() > MAX_XSEL_BYTES => {
                let message = format!(
                    "xsel does not transfer more than {MAX_XSEL_BYTES} bytes \
                    reliably"
                );
                return Err(ToolError::limit(message).with_hint("Install xclip, or copy less."));
            }
            (ClipboardBackend::Xsel, _) => self.xsel_program()?.args(["--input"]),
            (ClipboardBackend::Pasteboard, ClipboardFormat::Text) => {
                self.pasteboard_program("pbcopy")?
            }
            (ClipboardBackend::Pasteboard, ClipboardFormat::Image) => self.osascript_program(
                &format!("set the clipboard to {}", png::to_applescript(&bytes)),
            )?,
            (ClipboardBackend::Tmux, _) => return self.load_tmux_buffer(bytes).await,
        };
        // `osascript` already reads the script from stdin.
        let is_script =
            (self.backend, format) == (ClipboardBackend::Pasteboard, ClipboardFormat::Image);
        let program = if is_script { program } else { program.input(bytes) };
        self.check_success(program.run(self.cx).await?).map(drop)
    }

    /// Clears the content.
    pub(super) async fn clear(&self) -> Result<(), ToolError> {
        let program = match self.backend {
            ClipboardBackend::WlClipboard => self.wl_program("wl-copy")?.args(["--clear"]),
            ClipboardBackend::Xclip => self.xclip_program()?.args(["-i"]).input(Vec::new()),
            ClipboardBackend::Xsel => self.xsel_program()?.args(["--clear"]),
            ClipboardBackend::Pasteboard => self.pasteboard_program("pbcopy")?,
            ClipboardBackend::Tmux => {
                DesktopProgram::new(self.desktop, "tmux")?.args(["delete-buffer"])
            }
        };
        let ended = program.run(self.cx).await?;
        if !ended.success && stderr_contains(&ended, &["no buffer"]) {
            return Ok(());
        }
        self.check_success(ended).map(drop)
    }

    /// Loads a tmux buffer. A recent tmux also passes it on to the clipboard of
    /// its terminal.
    async fn load_tmux_buffer(&self, bytes: Vec<u8>) -> Result<(), ToolError> {
        let tmux = |flags: &[&'static str]| {
            let program = DesktopProgram::new(self.desktop, "tmux")?.args(["load-buffer"]);
            Ok::<_, ToolError>(program.args(flags.iter().copied()).args(["-"]))
        };
        let ended = tmux(&["-w"])?.input(bytes.clone()).run(self.cx).await?;
        if !ended.success && stderr_contains(&ended, &["unknown flag", "usage:", "unknown option"])
        {
            return self.check_success(tmux(&[])?.input(bytes).run(self.cx).await?).map(drop);
        }
        self.check_success(ended).map(drop)
    }

    /// Adds a hint to the error if the program failed.
    fn check_success(&self, ended: ProgramResult) -> Result<ProgramResult, ToolError> {
        ended.require_success().map_err(|error| {
            error.with_hint(match self.backend {
                ClipboardBackend::WlClipboard => "Check WAYLAND_DISPLAY and XDG_RUNTIME_DIR.",
                ClipboardBackend::Xclip | ClipboardBackend::Xsel => "Check DISPLAY and XAUTHORITY.",
                ClipboardBackend::Pasteboard => "Run hermes in the session of the logged-in user.",
                ClipboardBackend::Tmux => "Check that the tmux server in TMUX is still running.",
            })
        })
    }

    fn wl_program(&self, name: &'static str) -> Result<DesktopProgram<'a>, ToolError> {
        let program = DesktopProgram::new(self.desktop, name)?;
        let primary = (self.selection == ClipboardSelection::Primary).then_some("--primary");
        Ok(program.args(primary))
    }

    fn xclip_program(&self) -> Result<DesktopProgram<'a>, ToolError> {
        let selection = match self.selection {
            ClipboardSelection::Clipboard => "clipboard",
            ClipboardSelection::Primary => "primary",
        };
        Ok(DesktopProgram::new(self.desktop, "xclip")?.args(["-selection", selection]))
    }

    fn xsel_program(&self) -> Result<DesktopProgram<'a>, ToolError> {
        let selection = match self.selection {
            ClipboardSelection::Clipboard => "--clipboard",
            ClipboardSelection::Primary => "--primary",
        };
        Ok(DesktopProgram::new(self.desktop, "xsel")?.args([selection]))
    }

    /// `pbcopy` and `pbpaste` depend on the locale, which may be unset.
    fn pasteboard_program(&self, name: &'static str) -> Result<DesktopProgram<'a>, ToolError> {
        Ok(DesktopProgram::new(self.desktop, name)?.env("LC_ALL", "en_US.UTF-8"))
    }

    fn osascript_program(&self, script: &str) -> Result<DesktopProgram<'a>, ToolError> {
        let program = DesktopProgram::new(self.desktop, "osascript")?;
        Ok(program.args(["-"]).input(script.as_bytes().to_vec()))
    }
}

fn stderr_contains(ended: &ProgramResult, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| ended.stderr_line.contains(phrase))
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
