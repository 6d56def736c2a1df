//! The virtual world: event queue, virtual clock and cores, byte store, crash images.
