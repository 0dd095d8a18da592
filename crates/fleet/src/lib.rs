//! Who in the fleet may send a probe now: one-shot permits.
