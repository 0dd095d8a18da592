//! Transport to providers: connections, deadlines per phase, bodies and streams.
