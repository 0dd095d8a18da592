//! Wire formats of model providers and their clients: the borrowed JSON envelope, SSE, error bodies.
