//! `hermes hands`: the far end of file tools that work in another place.
//! Started there by the near end, and ended by it.

use hermes::core::ErrorKind;

use crate::command_error::{CliExitCode, CommandError, CommandResult};

pub(crate) fn run() -> CommandResult {
    let served = hermes_remote_tools::serve(
        hermes_tools_file::tools(),
        std::io::stdin().lock(),
        std::io::stdout(),
    );
    served.map(|()| CliExitCode::Ok).map_err(|error| {
        CommandError::failed(
            ErrorKind::Internal,
            format!("The other end cannot be understood: {error}"),
        )
    })
}
