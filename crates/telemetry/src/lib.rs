//! Metrics, log set-up and types that keep secrets out of both.
