//! Programs under a debugger, by the Debug Adapter Protocol.
