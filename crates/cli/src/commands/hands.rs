//! `hermes hands`: the remote end of the file tools on another backend. The
//! local end starts and stops it.

use hermes::core::ErrorKind;

use crate::command_error::{CliExitCode, CommandError, CommandResult};

pub(crate) fn run() -> CommandResult {
    let families = hermes::FAMILIES.iter().filter(|family| family.follows_backend);
    let tools = families.flat_map(|family| (family.tools)()).collect();
    let served = hermes_remote_tools::serve(tools, std::io::stdin().lock(), std::io::stdout());
    served.map(|()| CliExitCode::Ok).map_err(|error| {
        CommandError::failed(
            ErrorKind::Internal,
            format!("Invalid message from the local end: {error}"),
        )
    })
}
