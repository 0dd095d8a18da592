//! The key table and the code that reads keys agree.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use crate::diag::Report;
use crate::keys::{CALL_PARAMS, SHOWN_INFO, Section, Support};
use crate::{Source, tree};

struct One(&'static str);

impl Source for One {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Ok(self.0.as_bytes().to_vec())
    }

    fn var(&self, _: &str) -> Option<String> {
        None
    }
}

/// Keys that are read while the tree is made, before there are sections.
const BY_THE_TREE: [(&str, &str); 2] = [("top level", "include"), ("top level", "environment_variables")];

#[test]
fn every_key_that_works_is_read_and_no_other() {
    let text = "model_list: [{model_name: a, litellm_params: {model: openai/a, api_key: k}, model_info: {id: 1}}]\n\
                router_settings: {retry_after: 1}\nlitellm_settings: {drop_params: true}\n\
                general_settings: {master_key: k}\nhaleway: {profile: resilient}\n";
    let source = One(text);
    let report = Report::default();
    let mut root = tree::read(Path::new("c.yaml"), &source, &report).unwrap();
    let environment = tree::environment(&mut root, &source, &report);
    super::lower(&root, environment, &source, &report);
    let read: BTreeSet<(&str, String)> = report.read.borrow().clone();
    let works: BTreeSet<(&str, String)> = Section::ALL
        .into_iter()
        .flat_map(|section| section.keys().map(move |key| (section, key)))
        .filter(|(_, key)| key.support == Support::Works)
        .map(|(section, key)| (section.name(), key.name.to_owned()))
        .filter(|(section, key)| !BY_THE_TREE.contains(&(section, key)))
        .collect();
    assert_eq!(
        read.difference(&works).collect::<Vec<_>>(),
        Vec::<&(&str, String)>::new(),
        "read but not in the table"
    );
    assert_eq!(
        works.difference(&read).collect::<Vec<_>>(),
        Vec::<&(&str, String)>::new(),
        "in the table, never read"
    );
}

#[test]
fn no_key_is_in_a_table_twice() {
    for section in Section::ALL {
        let mut seen = BTreeSet::new();
        for key in section.keys() {
            assert!(seen.insert(key.name), "{} twice in {}", key.name, section.name());
        }
        let free = match section {
            Section::Params => CALL_PARAMS,
            Section::Info => SHOWN_INFO,
            Section::Top | Section::Entry | Section::Router | Section::Litellm | Section::General => &[],
        };
        for name in free {
            assert!(seen.insert(name), "{name} is both a setting and free in {}", section.name());
        }
    }
}
