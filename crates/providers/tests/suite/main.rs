//! The crate from outside: deployments as configured, calls as sent, answers as received.

#[cfg(test)]
mod agree;
#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod any_bytes;
#[cfg(test)]
mod bedrock;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod cohere;
#[cfg(test)]
mod common;
#[cfg(test)]
mod free;
#[cfg(test)]
mod gemini;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod live;
#[cfg(test)]
mod media;
#[cfg(test)]
mod ollama;
#[cfg(test)]
mod probe_cases;
#[cfg(test)]
mod probes;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod resolution;
#[cfg(test)]
mod tei;
#[cfg(test)]
mod vertex;
#[cfg(test)]
mod watsonx;
