//! `notification`: shows a desktop notification, or rings the terminal bell as
//! a fallback.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use hermes_core::{
    Availability, Effect, ErrorKind, JsonSchema, Resource, Scope, Tool, ToolContext, ToolError,
    ToolExample, ToolSpec, WorkingDir,
};
use hermes_files::FileAccess;
use serde::{Deserialize, Serialize};

use crate::blocking::blocking;
use crate::desktop::{DesktopEnv, DesktopProgram};
use crate::remote;

const APPLICATION_NAME: &str = "hermes";
const MAX_TITLE_CHARS: usize = 200;
const MAX_MESSAGE_CHARS: usize = 4_000;
const MAX_REPLY_BYTES: usize = 64 * 1024;
/// File extensions of images.
const IMAGE_EXTENSIONS: [&str; 8] = ["png", "svg", "jpg", "jpeg", "gif", "ico", "webp", "xpm"];

/// Takes title, message and sound name as arguments, each passed verbatim.
const NOTIFY_APPLESCRIPT: &str = "on run argv
  if (item 3 of argv) is \"\" then
    display notification (item 2 of argv) with title (item 1 of argv)
  else
    display notification (item 2 of argv) with title (item 1 of argv) sound name (item 3 of argv)
  end if
end run
";

#[derive(Debug)]
pub(crate) struct Notification {
    desktop: DesktopEnv,
    /// Whether stderr is a terminal, which has a bell.
    has_bell: bool,
}

impl Default for Notification {
    fn default() -> Self {
        Self { desktop: DesktopEnv::default(), has_bell: io::stderr().is_terminal() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Text, shown verbatim.
    #[schemars(length(max = 4000))]
    message: String,
    /// Default: hermes.
    #[schemars(length(max = 200))]
    title: Option<String>,
    /// critical stays until dismissed.
    urgency: Option<NotificationUrgency>,
    /// Theme icon name (dialog-warning) or image path.
    icon: Option<String>,
    /// Seconds shown; 0 stays. Default: set by the desktop.
    #[schemars(range(max = 86400))]
    timeout: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NotificationUrgency {
    Low,
    Normal,
    Critical,
}

#[derive(Debug, Serialize)]
pub(crate) struct NotificationAnswer {
    delivered_by: NotificationChannel,
    /// Why no better channel was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Arguments that the channel does not support.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum NotificationChannel {
    NotifySend,
    Osascript,
    Bell,
}

impl Tool for Notification {
    type Args = Args;
    type Output = NotificationAnswer;

    fn spec() -> ToolSpec {
        ToolSpec::new("notification", "system")
            .emoji("🔔")
            .description(
                "Show the user a desktop notification, for instance when long work is done. \
                 Without a desktop, rings the terminal bell; see delivered_by.",
            )
            .alias("notify")
            .alias("send_notification")
            .parameter_alias("body", "message")
            .parameter_alias("text", "message")
            .parameter_alias("summary", "title")
            .parameter_alias("priority", "urgency")
            .parameter_alias("duration", "timeout")
            .keyword("alert")
            .keyword("desktop")
            .keyword("popup")
            .keyword("bell")
            .example(
                ToolExample::new(
                    "Work is done",
                    r#"{"title":"Build","message":"All 214 tests passed","icon":"dialog-information"}"#,
                )
                .expects("{}"),
            )
            .example(
                ToolExample::new(
                    "Ask for attention",
                    r#"{"message":"The disk is nearly full","urgency":"critical","timeout":0}"#,
                )
                .expects("{}"),
            )
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let icon = args.icon_path(at).map(|path| Effect::path(Scope::FILE_READ, path));
        [show_effect()].into_iter().chain(icon).collect()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<NotificationAnswer, ToolError> {
        cx.check_grant(&show_effect().scope, &show_effect().resource)?;
        args.check()?;
        let icon = args.find_icon(cx).await?;
        let shown = match DesktopNotifier::detect(&self.desktop) {
            Ok(DesktopNotifier::NotifySend) => self.notify_send(&args, icon, cx).await,
            Ok(DesktopNotifier::Osascript) => self.osascript(&args, cx).await,
            Err(missing) => Err(ToolError::unavailable(missing.reason).with_hint(missing.fix)),
        };
        let error = match shown {
            Err(error) if error.kind() != ErrorKind::Cancelled => error,
            done => return done,
        };
        if !(self.has_bell && ring_bell()) {
            return Err(error);
        }
        let reason = format!("{}; rang the bell, the text was not shown", error.message());
        Ok(NotificationAnswer {
            delivered_by: NotificationChannel::Bell,
            reason: Some(reason),
            ignored: args.requested_extras().collect(),
        })
    }

    async fn check(&self) -> Availability {
        match DesktopNotifier::detect(&self.desktop) {
            Err(missing) if !self.has_bell => Availability::missing(missing.reason, missing.fix),
            _ => Availability::Ready,
        }
    }
}

fn show_effect() -> Effect {
    Effect { scope: Scope::NOTIFICATION_SHOW, resource: Resource::Name("desktop".to_owned()) }
}

/// How to reach the desktop's notification service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DesktopNotifier {
    NotifySend,
    Osascript,
}

/// Why no notifier is available, and how to get one.
#[derive(Debug)]
struct NotifierUnavailable {
    reason: &'static str,
    fix: &'static str,
}

impl DesktopNotifier {
    fn detect(desktop: &DesktopEnv) -> Result<Self, NotifierUnavailable> {
        if cfg!(target_os = "macos") && desktop.find_program("osascript").is_some() {
            return Ok(Self::Osascript);
        }
        if !desktop.has_session_bus() {
            return Err(NotifierUnavailable {
                reason: "No desktop session: DBUS_SESSION_BUS_ADDRESS is not set",
                fix: "Start hermes in a desktop session, or in a terminal for its bell.",
            });
        }
        if desktop.find_program("notify-send").is_none() {
            return Err(NotifierUnavailable {
                reason: "notify-send is not installed",
                fix: "Install it (Debian: libnotify-bin; Fedora and Arch: libnotify).",
            });
        }
        Ok(Self::NotifySend)
    }
}

impl Args {
    fn check(&self) -> Result<(), ToolError> {
        let parts = [
            ("message", Some(&self.message), MAX_MESSAGE_CHARS),
            ("title", self.title.as_ref(), MAX_TITLE_CHARS),
            ("icon", self.icon.as_ref(), MAX_MESSAGE_CHARS),
        ];
        for (name, text, longest) in parts {
            let Some(text) = text else { continue };
            if text.contains('\0') {
                return Err(ToolError::invalid(format!("'{name}' contains a NUL character")));
            }
            if text.chars().count() > longest {
                return Err(ToolError::invalid(format!("'{name}' exceeds {longest} characters"))
                    .with_hint("Shorten it; put long text into a file."));
            }
        }
        if self.message.trim().is_empty() {
            return Err(ToolError::invalid("'message' is empty"));
        }
        Ok(())
    }

    fn title(&self) -> &str {
        self.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(APPLICATION_NAME)
    }

    /// The path of an icon file. An icon with a slash or an image extension is
    /// a file; any other is a theme icon name, which has no extension.
    fn icon_path(&self, at: &WorkingDir) -> Option<PathBuf> {
        let is_image = |icon: &str| {
            let end = Path::new(icon).extension().and_then(OsStr::to_str).unwrap_or_default();
            IMAGE_EXTENSIONS.iter().any(|image| end.eq_ignore_ascii_case(image))
        };
        let icon = self.icon.as_deref().filter(|icon| icon.contains('/') || is_image(icon))?;
        Some(at.resolve(icon))
    }

    /// Resolves the icon for the desktop.
    async fn find_icon(&self, cx: &ToolContext) -> Result<Option<PathBuf>, ToolError> {
        let Some(path) = self.icon_path(&cx.working_dir) else {
            return Ok(self.icon.as_deref().filter(|icon| !icon.is_empty()).map(PathBuf::from));
        };
        if let Some(jobs) = remote::remote_jobs(cx) {
            let place = jobs.backend().name().to_owned();
            return Err(ToolError::invalid(format!(
                "The icon is a file on {place}, which the desktop cannot read"
            ))
            .with_hint("Omit it, or name an icon of the desktop's theme."));
        }
        let own = cx.clone();
        let real = blocking(cx, move || {
            let files = FileAccess::new(&own);
            files.open(&path)?;
            files.real_path(&path)
        });
        real.await?.map(Some)
    }

    /// The optional arguments that were given.
    fn requested_extras(&self) -> impl Iterator<Item = &'static str> {
        let asked = [
            ("urgency", self.urgency.is_some()),
            ("icon", self.icon.is_some()),
            ("timeout", self.timeout.is_some()),
        ];
        asked.into_iter().filter_map(|(name, is_asked)| is_asked.then_some(name))
    }
}

impl Notification {
    async fn notify_send(
        &self,
        args: &Args,
        icon: Option<PathBuf>,
        cx: &ToolContext,
    ) -> Result<NotificationAnswer, ToolError> {
        let program = DesktopProgram::new(&self.desktop, "notify-send")?;
        let mut program = program.args([format!("--app-name={APPLICATION_NAME}")]);
        if let Some(urgency) = args.urgency {
            let level = match urgency {
                NotificationUrgency::Low => "low",
                NotificationUrgency::Normal => "normal",
                NotificationUrgency::Critical => "critical",
            };
            program = program.args([format!("--urgency={level}")]);
        }
        if let Some(icon) = icon {
            program = program.args(["--icon".into(), icon.into_os_string()]);
        }
        if let Some(seconds) = args.timeout {
            let milliseconds = u64::from(seconds.min(86_400)) * 1_000;
            program = program.args([format!("--expire-time={milliseconds}")]);
        }
        let body = self.body(&args.message, cx).await?;
        let ended = program.args(["--", args.title(), &body]).run(cx).await?;
        ended.require_success().map_err(|error| {
            error.with_hint(
                "Check that a notification daemon is running (the desktop's own, dunst, mako).",
            )
        })?;
        Ok(NotificationAnswer {
            delivered_by: NotificationChannel::NotifySend,
            reason: None,
            ignored: Vec::new(),
        })
    }

    /// Escapes the message so it is shown verbatim: `notify-send` interprets
    /// backslashes, and most desktops interpret markup.
    async fn body(&self, message: &str, cx: &ToolContext) -> Result<String, ToolError> {
        let literal = message.replace('\\', "\\\\");
        if !literal.contains(['&', '<', '>']) || !self.reads_markup(cx).await? {
            return Ok(literal);
        }
        Ok(literal.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
    }

    /// Queries the notification service. Assumes markup if the query fails, as
    /// most desktops support it.
    async fn reads_markup(&self, cx: &ToolContext) -> Result<bool, ToolError> {
        let Ok(program) = DesktopProgram::new(&self.desktop, "dbus-send") else { return Ok(true) };
        let asked = program
            .args(["--session", "--print-reply", "--dest=org.freedesktop.Notifications"])
            .args(["/org/freedesktop/Notifications"])
            .args(["org.freedesktop.Notifications.GetCapabilities"])
            .output(MAX_REPLY_BYTES)
            .run(cx)
            .await;
        match asked {
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
            Ok(ended) if ended.success => {
                Ok(String::from_utf8_lossy(&ended.output).contains("\"body-markup\""))
            }
            _ => Ok(true),
        }
    }

    async fn osascript(
        &self,
        args: &Args,
        cx: &ToolContext,
    ) -> Result<NotificationAnswer, ToolError> {
        let sound = if args.urgency == Some(NotificationUrgency::Critical) { "Basso" } else { "" };
        let ended = DesktopProgram::new(&self.desktop, "osascript")?
            .args(["-", args.title(), &args.message, sound])
            .input(NOTIFY_APPLESCRIPT.as_bytes().to_vec())
            .run(cx)
            .await?;
        ended.require_success().map_err(|error| {
            error.with_hint("Allow notifications from Script Editor in the system settings.")
        })?;
        let ignored = args.requested_extras().filter(|name| *name != "urgency").collect();
        Ok(NotificationAnswer {
            delivered_by: NotificationChannel::Osascript,
            reason: None,
            ignored,
        })
    }
}

/// Rings the terminal bell; whether that succeeded.
fn ring_bell() -> bool {
    let mut terminal = io::stderr().lock();
    terminal.write_all(b"\x07").and_then(|()| terminal.flush()).is_ok()
}

#[cfg(test)]
#[path = "notification_tests.rs"]
mod tests;
