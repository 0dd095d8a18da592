//! Cycles in fallback chains. A call survives them (no group is entered twice), but whoever wrote one meant
//! something else, so the configuration names it.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Every cycle closed by following `chains` from group to group, each once, without the repetition of its first
/// member: `a → b → a` is `[a, b]`. A group that falls back on itself is a cycle of one.
pub fn fallback_cycles(chains: &BTreeMap<Arc<str>, Vec<Arc<str>>>) -> Vec<Vec<Arc<str>>> {
    let mut search = Search { chains, path: Vec::new(), done: Vec::new(), found: Vec::new() };
    for start in chains.keys() {
        search.visit(start);
    }
    search.found
}

struct Search<'a> {
    chains: &'a BTreeMap<Arc<str>, Vec<Arc<str>>>,
    path: Vec<Arc<str>>,
    done: Vec<Arc<str>>,
    found: Vec<Vec<Arc<str>>>,
}

impl Search<'_> {
    /// Depth is bounded by the number of groups: a group on the path is not entered again.
    fn visit(&mut self, group: &Arc<str>) {
        if let Some(at) = self.path.iter().position(|seen| seen == group) {
            self.found.extend(self.path.get(at..).map(<[_]>::to_vec));
            return;
        }
        if self.done.contains(group) {
            return;
        }
        self.path.push(Arc::clone(group));
        for next in self.chains.get(group).into_iter().flatten() {
            self.visit(next);
        }
        self.path.pop();
        self.done.push(Arc::clone(group));
    }
}
