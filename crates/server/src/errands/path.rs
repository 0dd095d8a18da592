//! The paths of files, batches and videos: which object is meant, and what is to be done with it.

use haleway_providers::registry::provider_of_prefix;
use haleway_providers::{Action, Operation};
use http::Method;

/// A path of an object or of their list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Files, batches or videos.
    pub(crate) operation: Operation,
    /// `/{provider}/v1/files`: whose objects are meant.
    pub(crate) provider: Option<String>,
    /// The object.
    pub(crate) id: Option<String>,
    /// What follows the object.
    verb: Option<Verb>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Content,
    Cancel,
    Remix,
}

impl Place {
    /// Reads a path: below `/v1`, without it, below `/openai` or below `/{provider}/v1`.
    pub(crate) fn of(path: &str) -> Option<Self> {
        const KEPT: [Operation; 3] = [Operation::Files, Operation::Batches, Operation::Videos];
        let path = path.strip_suffix('/').unwrap_or(path).strip_prefix('/')?;
        let segments: Vec<&str> = path.split('/').collect();
        let at = segments.iter().take(3).position(|segment| resource(&KEPT, segment).is_some())?;
        let operation = resource(&KEPT, segments.get(at)?)?;
        let provider = match segments.get(..at)? {
            [] | ["v1"] | ["openai"] | ["openai", "v1"] => None,
            [provider, "v1"] if provider_of_prefix(provider).is_some() => Some((*provider).to_owned()),
            _ => return None,
        };
        let (id, verb) = match segments.get(at + 1..)? {
            [] => (None, None),
            [id] => (Some(*id), None),
            [id, verb] => (Some(*id), Some(Verb::of(operation, verb)?)),
            _ => return None,
        };
        let id = id.filter(|id| !id.is_empty()).map(decoded);
        Some(Self { operation, provider, id, verb })
    }

    /// What `method` means here, for the object that the provider calls `id`.
    pub(crate) fn action<'a>(&self, method: &Method, id: Option<&'a str>) -> Option<Action<'a>> {
        let get = method == Method::GET;
        let post = method == Method::POST;
        match (id, self.verb) {
            (None, _) if post => Some(Action::Create),
            (None, _) if get => Some(Action::List),
            (Some(id), None) if get => Some(Action::Get(id)),
            (Some(id), None) if method == Method::DELETE && self.operation != Operation::Batches => {
                Some(Action::Delete(id))
            }
            (Some(id), Some(Verb::Content)) if get => Some(Action::Content(id)),
            (Some(id), Some(Verb::Cancel)) if post => Some(Action::Cancel(id)),
            (Some(id), Some(Verb::Remix)) if post => Some(Action::Remix(id)),
            (None | Some(_), _) => None,
        }
    }

    /// The methods there are, for the header `allow`.
    pub(crate) fn allowed(&self) -> &'static str {
        match (self.id.is_some(), self.verb) {
            (false, _) => "GET, POST",
            (true, None) if self.operation == Operation::Batches => "GET",
            (true, None) => "DELETE, GET",
            (true, Some(Verb::Content)) => "GET",
            (true, Some(Verb::Cancel | Verb::Remix)) => "POST",
        }
    }
}

impl Verb {
    fn of(operation: Operation, segment: &str) -> Option<Self> {
        match (operation, segment) {
            (Operation::Files | Operation::Videos, "content") => Some(Self::Content),
            (Operation::Batches, "cancel") => Some(Self::Cancel),
            (Operation::Videos, "remix") => Some(Self::Remix),
            _ => None,
        }
    }
}

fn resource(kept: &[Operation], segment: &str) -> Option<Operation> {
    kept.iter().copied().find(|operation| operation.path().strip_prefix('/') == Some(segment))
}

fn decoded(segment: &str) -> String {
    percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(method: Method, path: &str) -> Option<(Operation, String)> {
        let place = Place::of(path)?;
        let action = place.action(&method, place.id.as_deref())?;
        Some((place.operation, format!("{action:?}")))
    }

    #[test]
    fn every_path_and_method_has_its_meaning() {
        for prefix in ["", "/v1", "/openai", "/openai/v1", "/azure/v1"] {
            for (method, path, operation, meant) in [
                (Method::POST, "/files", Operation::Files, "Create"),
                (Method::GET, "/files/", Operation::Files, "List"),
                (Method::GET, "/files/file-1", Operation::Files, "Get(\"file-1\")"),
                (Method::DELETE, "/files/file-1", Operation::Files, "Delete(\"file-1\")"),
                (Method::GET, "/files/a%2Fb/content", Operation::Files, "Content(\"a/b\")"),
                (Method::POST, "/batches", Operation::Batches, "Create"),
                (Method::GET, "/batches", Operation::Batches, "List"),
                (Method::GET, "/batches/batch_1", Operation::Batches, "Get(\"batch_1\")"),
                (Method::POST, "/batches/batch_1/cancel", Operation::Batches, "Cancel(\"batch_1\")"),
                (Method::POST, "/videos", Operation::Videos, "Create"),
                (Method::GET, "/videos/v/content", Operation::Videos, "Content(\"v\")"),
                (Method::DELETE, "/videos/v", Operation::Videos, "Delete(\"v\")"),
                (Method::POST, "/videos/v/remix", Operation::Videos, "Remix(\"v\")"),
            ] {
                let found = action(method, &format!("{prefix}{path}"));
                assert_eq!(found, Some((operation, meant.to_owned())), "{prefix}{path}");
            }
        }
        assert_eq!(Place::of("/azure/v1/files").unwrap().provider.as_deref(), Some("azure"));
    }

    #[test]
    fn other_paths_and_methods_mean_nothing() {
        for path in [
            "/",
            "/v1",
            "/v2/files",
            "/nobody/v1/files",
            "/v1/files/a/b",
            "/v1/files/a/content/c",
            "/ui/files/x",
        ] {
            assert_eq!(Place::of(path), None, "{path}");
        }
        for (method, path, allowed) in [
            (Method::DELETE, "/v1/batches/b", "GET"),
            (Method::GET, "/v1/batches/b/cancel", "POST"),
            (Method::PUT, "/v1/files", "GET, POST"),
        ] {
            assert_eq!(action(method, path), None, "{path}");
            assert_eq!(Place::of(path).unwrap().allowed(), allowed);
        }
    }
}
