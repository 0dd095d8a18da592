//! Boots the gateway in-process.
