//! Processes that one command starts and another one stops, as scripts of
//! projects do with a file for the number.

use super::everyone;
use super::user::TestUser;

everyone!(a_script_stops_what_another_has_started);
fn a_script_stops_what_another_has_started(user: &mut TestUser) {
    user.write("start.sh", "#!/bin/sh\nsleep 60 >/dev/null 2>&1 &\necho $! >server.pid\n");
    user.write(
        "stop.sh",
        "#!/bin/sh\npid=$(cat server.pid)\nkill \"$pid\" || exit 1\n\
         while kill -0 \"$pid\" 2>/dev/null; do sleep 0.1; done\necho stopped\n",
    );
    let outputs = user.succeed(&["./start.sh", "timeout 5 ./stop.sh"]);
    assert_eq!(outputs[1], "stopped\n", "{outputs:?}");
}
