//! Pseudo-terminals: a pair of ends, of which a program gets one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, OptionalActions, Winsize};

/// The two ends of a pseudo-terminal. Programs that are started later do not
/// inherit them.
#[derive(Debug)]
pub struct PtyPair {
    /// Our end: what the program writes is read here, and keys are written.
    pub master: OwnedFd,
    /// The program's end: its input, output and errors. As long as somebody
    /// has it open, our end does not end.
    pub slave: OwnedFd,
}

/// How the terminal treats what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TtyInputMode {
    /// It is shown. A program that asks for a password turns this off.
    pub echo: bool,
    /// The program gets whole lines. Editors, pagers and line editors want
    /// every key at once and turn this off.
    pub is_canonical: bool,
}

/// Opens a pseudo-terminal of this size.
///
/// # Errors
/// If the system has none left or does not let us.
pub fn open(rows: u16, cols: u16) -> io::Result<PtyPair> {
    from_master(open_master()?, rows, cols)
}

/// The same of a terminal whose one end was opened elsewhere.
///
/// # Errors
/// If it is not such an end.
pub fn from_master(master: OwnedFd, rows: u16, cols: u16) -> io::Result<PtyPair> {
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    let slave = open_slave(&master)?;
    // Some systems know a size only once the other end is open.
    set_size(&master, rows, cols)?;
    Ok(PtyPair { master, slave })
}

#[cfg(target_os = "linux")]
fn open_master() -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(rustix::pty::openpt(flags)?)
}

#[cfg(not(target_os = "linux"))]
fn open_master() -> io::Result<OwnedFd> {
    let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC)?;
    Ok(master)
}

fn open_slave(master: &OwnedFd) -> io::Result<OwnedFd> {
    // The name may lead elsewhere where /dev/pts is not the one that our end
    // came from; kernels that can open the other end without it do.
    #[cfg(target_os = "linux")]
    {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        if let Ok(slave) = rustix::pty::ioctl_tiocgptpeer(master, flags) {
            return Ok(slave);
        }
    }
    let name = rustix::pty::ptsname(master, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(name.as_c_str(), flags, Mode::empty())?)
}

/// Tells the terminal its size; the program in the foreground gets SIGWINCH.
///
/// # Errors
/// If it is not a terminal.
pub fn set_size(terminal: impl AsFd, rows: u16, cols: u16) -> io::Result<()> {
    let size = Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(terminal, size)?)
}

/// How many rows and columns the terminal has.
///
/// # Errors
/// If it is not a terminal.
pub fn size(terminal: impl AsFd) -> io::Result<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(terminal)?;
    Ok((size.ws_row, size.ws_col))
}

/// How the terminal treats what is typed. Either end may be asked.
///
/// # Errors
/// If it is not a terminal.
pub fn input_mode(terminal: impl AsFd) -> io::Result<TtyInputMode> {
    let modes = rustix::termios::tcgetattr(terminal)?.local_modes;
    Ok(TtyInputMode {
        echo: modes.contains(LocalModes::ECHO),
        is_canonical: modes.contains(LocalModes::ICANON),
    })
}

/// Whether what is typed is shown.
///
/// # Errors
/// If it is not a terminal.
pub fn echo(terminal: impl AsFd) -> io::Result<bool> {
    Ok(input_mode(terminal)?.echo)
}

/// Sets whether what is typed is shown.
///
/// # Errors
/// If it is not a terminal.
pub fn set_echo(terminal: impl AsFd, on: bool) -> io::Result<()> {
    let mut attributes = rustix::termios::tcgetattr(&terminal)?;
    attributes.local_modes.set(LocalModes::ECHO, on);
    Ok(rustix::termios::tcsetattr(&terminal, OptionalActions::Now, &attributes)?)
}

#[cfg(test)]
#[path = "pty_tests.rs"]
mod tests;
