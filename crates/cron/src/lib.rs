//! Tasks at set times: when they are due, who runs them, how they went.
