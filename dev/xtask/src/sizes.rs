//! Length of files and functions.
//!
//! A file is read whole or not at all, and a function that does not fit a screen hides its shape. The limits hold
//! for tests too. Only functions that are a table of data and nothing else may be longer.

use std::path::Path;

use anyhow::Result;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Stmt};

use crate::finding::Finding;
use crate::tree::{self, Text};

const MAX_FILE: usize = 1_000;
const MAX_MEDIAN: usize = 200;
const MAX_FUNCTION: usize = 80;

/// Reads every Rust file and applies the limits.
pub(crate) fn findings(root: &Path) -> Result<Vec<Finding>> {
    Ok(judge(&tree::texts(root, |name| name.ends_with(".rs"))?))
}

fn judge(files: &[Text]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let lines = file.content.lines().count();
        if lines > MAX_FILE {
            findings.push(Finding::new(
                &file.name,
                0,
                format!("{lines} lines; the limit is {MAX_FILE}"),
                "split it by what each part decides; move tests to a sibling tests.rs",
            ));
        }
        match syn::parse_file(&file.content) {
            Ok(tree) => {
                let mut long = LongFunctions { file: &file.name, findings: &mut findings };
                long.visit_file(&tree);
            }
            Err(error) => findings.push(Finding::new(
                &file.name,
                error.span().start().line,
                format!("does not parse: {error}"),
                "mend it, or give a file that is not Rust another ending",
            )),
        }
    }
    let mut lengths: Vec<usize> = files.iter().map(|file| file.content.lines().count()).collect();
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    if median >= MAX_MEDIAN {
        findings.push(Finding::new(
            "workspace",
            0,
            format!("the median file has {median} lines; the limit is {MAX_MEDIAN}"),
            "split the larger files",
        ));
    }
    findings
}

struct LongFunctions<'a> {
    file: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl LongFunctions<'_> {
    fn look(&mut self, name: &syn::Ident, body: &Block) {
        let braces = body.brace_token.span;
        let lines = braces.close().start().line.saturating_sub(braces.open().start().line + 1);
        if lines > MAX_FUNCTION && !is_table(body) {
            self.findings.push(Finding::new(
                self.file,
                name.span().start().line,
                format!("fn {name} has {lines} lines; the limit is {MAX_FUNCTION}"),
                "name its steps as functions",
            ));
        }
    }
}

impl<'ast> Visit<'ast> for LongFunctions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.look(&item.sig.ident, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.look(&item.sig.ident, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.look(&item.sig.ident, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

/// Whether a body is one expression made of data only.
fn is_table(body: &Block) -> bool {
    matches!(body.stmts.as_slice(), [Stmt::Expr(tail, None)] if is_data(tail))
}

fn is_data(expr: &Expr) -> bool {
    #[expect(clippy::wildcard_enum_match_arm, reason = "syn's enum is open: any other expression is code")]
    match expr {
        Expr::Lit(_) | Expr::Path(_) => true,
        Expr::Array(array) => array.elems.iter().all(is_data),
        Expr::Tuple(tuple) => tuple.elems.iter().all(is_data),
        Expr::Struct(value) => {
            value.fields.iter().all(|field| is_data(&field.expr)) && value.rest.as_deref().is_none_or(is_data)
        }
        Expr::Reference(reference) => is_data(&reference.expr),
        Expr::Unary(unary) => is_data(&unary.expr),
        Expr::Cast(cast) => is_data(&cast.expr),
        Expr::Call(call) => matches!(*call.func, Expr::Path(_)) && call.args.iter().all(is_data),
        Expr::Macro(value) => value.mac.path.is_ident("vec") || value.mac.path.is_ident("json"),
        Expr::Match(value) => {
            is_data(&value.expr)
                && value.arms.iter().all(|arm| !matches!(arm.pat, syn::Pat::Guard(_)) && is_data(&arm.body))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge_one(content: String) -> Vec<Finding> {
        judge(&[Text { name: "sample.rs".into(), content }])
    }

    fn function(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    step();\n".repeat(lines))
    }

    #[test]
    fn a_function_over_eighty_lines_is_found_at_its_line() {
        let found = judge_one(format!("{}{}", function("short", 80), function("long", 81)));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, 83);
        assert!(found[0].what.contains("fn long has 81 lines"), "{}", found[0].what);
    }

    #[test]
    fn methods_trait_bodies_and_tests_are_counted() {
        let long = function("f", 90);
        let found = judge_one(format!(
            "impl A {{ {long} }}\ntrait B {{ {long} }}\n#[cfg(test)] mod tests {{ #[test] {long} }}\n"
        ));
        let long_ones = found.iter().filter(|finding| finding.what.contains("fn f has")).count();
        assert_eq!(long_ones, 3, "{found:?}");
    }

    #[test]
    fn a_table_of_data_may_be_long() {
        let rows = "    Row { name: \"a\", price: 1.0, at: &[1, 2] },\n".repeat(120);
        let table = format!("fn rows() -> Vec<Row> {{\n    vec![\n{rows}    ]\n}}\n");
        let arms = (0..100).map(|n| format!("        K::A{n} => \"{n}\",\n")).collect::<String>();
        let names = format!("fn name(k: K) -> &'static str {{\n    match k {{\n{arms}    }}\n}}\n");
        assert!(is_table(&syn::parse_str::<syn::ItemFn>(&table).unwrap().block));
        assert!(is_table(&syn::parse_str::<syn::ItemFn>(&names).unwrap().block));
        let code = arms.replace("\"0\"", "{ work(); \"0\" }");
        let work = format!("fn name(k: K) -> &'static str {{\n    match k {{\n{code}    }}\n}}\n");
        assert!(!is_table(&syn::parse_str::<syn::ItemFn>(&work).unwrap().block));
    }

    #[test]
    fn a_file_over_a_thousand_lines_is_found() {
        let found = judge_one("// line\n".repeat(1_001));
        assert!(found.iter().any(|finding| finding.what.starts_with("1001 lines")), "{found:?}");
    }

    #[test]
    fn a_high_median_is_found() {
        let file = |lines: usize| Text { name: "a.rs".into(), content: "// line\n".repeat(lines) };
        assert!(judge(&[file(10), file(199), file(900)]).is_empty());
        let found = judge(&[file(10), file(200), file(900)]);
        assert!(found[0].what.contains("median file has 200"), "{found:?}");
    }

    #[test]
    fn a_file_that_is_not_rust_is_told() {
        assert!(judge_one("fn (".into())[0].what.starts_with("does not parse"));
    }
}
