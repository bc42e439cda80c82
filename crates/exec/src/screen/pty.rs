//! Pseudo-terminals.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, OptionalActions, Winsize};

/// The two ends of a pseudo-terminal. Both are close-on-exec.
#[derive(Debug)]
pub struct PtyPair {
    /// Our end: reads the program's output and writes keys.
    pub master: OwnedFd,
    /// The program's end: its stdin, stdout and stderr. The master sees no end
    /// of file while any process has it open.
    pub slave: OwnedFd,
}

/// Input modes of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TtyInputMode {
    /// Input is echoed. A program that asks for a password turns this off.
    pub echo: bool,
    /// The program reads whole lines. Editors, pagers and line editors read
    /// single keys and turn this off.
    pub is_canonical: bool,
}

/// Opens a pseudo-terminal of this size.
///
/// # Errors
/// If the system has none left or denies access.
pub fn open(rows: u16, cols: u16) -> io::Result<PtyPair> {
    from_master(open_master()?, rows, cols)
}

/// Opens the slave of a master that was opened elsewhere.
///
/// # Errors
/// If `master` is not a pseudo-terminal master.
pub fn from_master(master: OwnedFd, rows: u16, cols: u16) -> io::Result<PtyPair> {
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    let slave = open_slave(&master)?;
    // Some systems accept a size only once the slave is open.
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
    // The path may name another device if /dev/pts is not the instance of the
    // master, so use TIOCGPTPEER where the kernel has it.
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

/// Sets the terminal size; the foreground process group receives SIGWINCH.
///
/// # Errors
/// If it is not a terminal.
pub fn set_size(terminal: impl AsFd, rows: u16, cols: u16) -> io::Result<()> {
    let size = Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(terminal, size)?)
}

/// Returns the number of rows and columns of the terminal.
///
/// # Errors
/// If it is not a terminal.
pub fn size(terminal: impl AsFd) -> io::Result<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(terminal)?;
    Ok((size.ws_row, size.ws_col))
}

/// Returns the input modes of the terminal. Accepts either end.
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

/// Whether input is echoed.
///
/// # Errors
/// If it is not a terminal.
pub fn echo(terminal: impl AsFd) -> io::Result<bool> {
    Ok(input_mode(terminal)?.echo)
}

/// Sets whether input is echoed.
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
