//! The whole gateway against mock providers, on the paused clock.

#[cfg(test)]
mod bridges;
#[cfg(test)]
mod catalogue;
#[cfg(test)]
mod costs;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod errands;
#[cfg(test)]
mod failover;
#[cfg(test)]
mod files;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod input;
#[cfg(test)]
mod media;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod page;
#[cfg(test)]
mod probes;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod reload;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod routing;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod sequences;
#[cfg(test)]
mod stored;
#[cfg(test)]
mod trace;
#[cfg(test)]
mod watched;
