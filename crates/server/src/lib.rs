//! The HTTP face of the gateway and the life of a request.
