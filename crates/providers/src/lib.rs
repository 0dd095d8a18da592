//! Providers as data and code: where a call goes, what it looks like, what its answer means.
