//! "Did you mean …": only among names that are valid at that place, and only when close enough to be a slip.

/// The nearest of `names`, when it is near: at most one edit in three characters, in a short word at most one.
pub(crate) fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let length = written.chars().count();
    let allowed = match length {
        0..=2 => return None,
        3..=5 => 1,
        6..=8 => 2,
        _ => length / 4,
    };
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&written.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, name)| (*distance, *name))
        .map(|(_, name)| name)
}

/// The nearest name as a hint.
pub(crate) fn did_you_mean<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(written, names).map(|name| format!("did you mean `{name}`?"))
}
