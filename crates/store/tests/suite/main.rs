//! One suite on real SQLite and on real PostgreSQL.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod files;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod server;
#[cfg(test)]
mod servers;
