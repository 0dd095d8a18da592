//! Where a configuration comes from: read again whole each time, with a note of what every file held.
//!
//! What was noted is what was loaded, byte for byte: a file that is written between a look and a reading would otherwise
//! count as known. A file that cannot be read is noted, too, so that its appearing is seen.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haleway_config::{FleetRole, Loaded, Options, Source, StoredModel, load_with};
use parking_lot::Mutex;

/// What files held: a number for the bytes of each, 0 for one that cannot be read.
pub(super) type Seen = BTreeMap<PathBuf, u64>;

/// Where a configuration comes from, to be read again.
#[derive(Clone)]
pub struct Origin {
    /// The file.
    pub path: PathBuf,
    /// Files and environment variables, read anew each time.
    pub source: Arc<dyn Source + Send + Sync>,
    /// How strict the checks are.
    pub options: Options,
    /// The role that the command line said, which outranks the file's.
    pub role: Option<FleetRole>,
    /// The files as they were loaded last.
    seen: Arc<Mutex<Seen>>,
    /// What the files held when they were last good.
    good: Arc<Mutex<Texts>>,
}

/// What files held.
type Texts = BTreeMap<PathBuf, Vec<u8>>;

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Origin").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Origin {
    /// A configuration in the file at `path`, not read yet.
    pub fn new(path: PathBuf, source: Arc<dyn Source + Send + Sync>, options: Options) -> Self {
        Self { path, source, options, role: None, seen: Arc::default(), good: Arc::default() }
    }

    /// Reads and checks it. Blocks on files.
    pub fn load(&self) -> Loaded {
        self.load_with(&[])
    }

    /// The same with models of the database.
    pub(super) fn load_with(&self, stored: &[StoredModel]) -> Loaded {
        let noting = Noting { source: &*self.source, texts: RefCell::default() };
        let loaded = load_with(&self.path, &noting, &self.options, stored);
        let texts = noting.texts.into_inner();
        *self.seen.lock() =
            texts.iter().map(|(path, bytes)| (path.clone(), number(bytes.as_deref()))).collect();
        if loaded.config.is_some() {
            let read = |(path, bytes): (PathBuf, Option<Vec<u8>>)| Some((path, bytes?));
            *self.good.lock() = texts.into_iter().filter_map(read).collect();
        }
        self.in_role(loaded)
    }

    /// Checks what the files held when they were last good, with models of the database: a change to those takes nothing
    /// over from a file that is being written, and a broken file holds up no model.
    pub(super) fn load_good(&self, stored: &[StoredModel]) -> Loaded {
        let good = Good { source: &*self.source, texts: self.good.lock().clone() };
        self.in_role(load_with(&self.path, &good, &self.options, stored))
    }

    fn in_role(&self, mut loaded: Loaded) -> Loaded {
        if let (Some(role), Some(config)) = (self.role, &mut loaded.config) {
            config.haleway.fleet.role = role;
        }
        loaded
    }

    /// The files as they were loaded last.
    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().clone()
    }
}

/// A source that notes what each file held; nothing for one that cannot be read.
struct Noting<'a> {
    source: &'a dyn Source,
    texts: RefCell<BTreeMap<PathBuf, Option<Vec<u8>>>>,
}

impl Source for Noting<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let read = self.source.read(path);
        self.texts.borrow_mut().insert(path.to_path_buf(), read.as_ref().ok().cloned());
        read
    }

    fn var(&self, name: &str) -> Option<String> {
        self.source.var(name)
    }
}

/// A source whose files hold what they held before.
struct Good<'a> {
    source: &'a dyn Source,
    texts: Texts,
}

impl Source for Good<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.texts.get(path).map_or_else(|| self.source.read(path), |bytes| Ok(bytes.clone()))
    }

    fn var(&self, name: &str) -> Option<String> {
        self.source.var(name)
    }
}

/// What the files of `known` hold now.
pub(super) fn look(source: &dyn Source, known: &Seen) -> Seen {
    known.keys().map(|path| (path.clone(), number(source.read(path).ok().as_deref()))).collect()
}

fn number(bytes: Option<&[u8]>) -> u64 {
    let Some(bytes) = bytes else { return 0 };
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is written anew right after it is read.
    struct Restless(Mutex<u32>);

    impl Source for Restless {
        fn read(&self, _path: &Path) -> io::Result<Vec<u8>> {
            let mut reads = self.0.lock();
            *reads += 1;
            Ok(format!("model_list: [] # {reads}").into_bytes())
        }

        fn var(&self, _name: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn what_is_written_while_it_is_loaded_counts_as_news() {
        let source = Arc::new(Restless(Mutex::new(0)));
        let origin = Origin::new("c.yaml".into(), Arc::clone(&source) as _, Options::default());
        assert!(origin.load().config.is_some());
        let seen = origin.seen();
        assert_eq!((seen.len(), *source.0.lock()), (1, 1), "read once, and noted as it was then");
        assert_ne!(look(&*source, &seen), seen);
    }
}
