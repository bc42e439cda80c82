//! Publishes ports of a session's namespace on this machine.

use std::io;

use tokio::net::{TcpListener, TcpStream};

use crate::accept::accept_each;
use crate::proxy::{ByteMeter, ProxyLimits, relay, reset};

/// Connects each client of `listener`, a port on this machine's loopback, to
/// the stream that `connect` opens inside the namespace. The user started these
/// clients, so no judge is involved. Runs until it is dropped.
pub async fn publish_port<F, T>(listener: TcpListener, connect: F)
where
    F: Fn() -> T,
    T: Future<Output = io::Result<TcpStream>> + Send + 'static,
{
    let limits = ProxyLimits::default();
    accept_each(listener, limits.max_connections, |mut client, _| {
        let connecting = connect();
        async move {
            let Ok(target) = connecting.await else { return reset(&client) };
            let meter = ByteMeter::default();
            let relayed = relay(&mut client, &[], target, &meter, limits.half_close_timeout).await;
            if relayed.is_err() {
                reset(&client);
            }
        }
    })
    .await;
}
