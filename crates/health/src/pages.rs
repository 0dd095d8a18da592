//! A table of small copies that is cheap to publish: readers share its pages, the writer copies a page on the
//! first write after a publication.

use std::sync::Arc;

/// Items per page.
const PAGE: usize = 64;

/// A persistent table of `T` by index.
#[derive(Clone, Debug)]
pub(crate) struct Pages<T> {
    pages: Vec<Arc<[T; PAGE]>>,
    len: u32,
}

impl<T> Pages<T> {
    /// A table of nothing.
    pub(crate) const fn empty() -> Self {
        Self { pages: Vec::new(), len: 0 }
    }
}

impl<T: Copy + PartialEq> Pages<T> {
    /// A table of `len` items, all `fill`.
    pub(crate) fn new(len: usize, fill: T) -> Self {
        let pages = (0..len.div_ceil(PAGE)).map(|_| Arc::new([fill; PAGE])).collect();
        Self { pages, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }

    /// The item at `index`.
    pub(crate) fn get(&self, index: u32) -> Option<T> {
        if index >= self.len {
            return None;
        }
        let page = self.pages.get(index as usize / PAGE)?;
        page.get(index as usize % PAGE).copied()
    }

    /// Stores `item` at `index`; answers whether that changed anything. Out of range changes nothing.
    pub(crate) fn set(&mut self, index: u32, item: T) -> bool {
        if index >= self.len {
            return false;
        }
        let Some(page) = self.pages.get_mut(index as usize / PAGE) else { return false };
        if page.get(index as usize % PAGE) == Some(&item) {
            return false;
        }
        if let Some(place) = Arc::make_mut(page).get_mut(index as usize % PAGE) {
            *place = item;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_copy_never_changes() {
        let mut pages = Pages::new(130, 0_u32);
        let published = pages.clone();
        assert!(pages.set(129, 7));
        assert!(!pages.set(129, 7), "storing the same item is no change");
        assert!(!pages.set(130, 7), "out of range");
        assert_eq!((pages.get(129), published.get(129), published.get(130)), (Some(7), Some(0), None));
        assert!(Arc::ptr_eq(&pages.pages[0], &published.pages[0]), "untouched pages are shared");
    }
}
