//! Scriptable model providers with faults, pacing and a cost meter, for the demo, tests and load.
