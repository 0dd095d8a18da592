//! Whole files through `load`, as the binary does it.

mod catalogue;
mod docs;
mod explain;
mod files;
mod fleet;
mod health;
mod inert;
mod keys;
mod properties;
mod references;
mod reports;
mod rules;
mod seeds;
mod stored;
mod table;
