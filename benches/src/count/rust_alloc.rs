//! The column of Rust's global allocator.

use std::alloc::{GlobalAlloc, Layout, System};

use super::{RUST, live};

/// [`System`], counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

// SAFETY: every method passes its arguments to `System` unchanged and returns what that returns.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        RUST.add(layout.size());
        live::RUST.took(layout.size());
        // SAFETY: the caller's promise about `layout` is the one `System` wants.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        RUST.add(layout.size());
        live::RUST.took(layout.size());
        // SAFETY: the caller's promise about `layout` is the one `System` wants.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        RUST.add(size);
        live::RUST.took(size);
        live::RUST.gave(layout.size());
        // SAFETY: `block` came from `System` through one of these methods, with this `layout`, says the caller.
        unsafe { System.realloc(block, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        live::RUST.gave(layout.size());
        // SAFETY: `block` came from `System` through one of these methods, with this `layout`, says the caller.
        unsafe { System.dealloc(block, layout) }
    }
}
